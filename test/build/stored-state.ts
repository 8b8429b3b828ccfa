/** Checks that everything visible in a lake and a snapshot directory is complete. Tests call it after every fault. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ProviderLake } from '../../build/lake/lake.ts';
import { SnapshotStorage } from '../../build/publish/snapshot-storage.ts';
import { verifyFiles } from '../../build/publish/verify.ts';
import { query } from './parquet-readers.ts';

const HAS_DATA = ['succeeded', 'suspicious'];
const DATA = [
  'catalogue.json',
  'fetches.json',
  'observations.parquet',
  'run.json',
  'series.json',
  'sources.parquet',
];

async function checkProvider(lake: ProviderLake): Promise<void> {
  for (const id of await lake.runIds()) {
    const record = await lake.record(id);
    if (record.finished_at === null || record.status === 'running') throw new Error(`${id} has not ended`);
    const names = (await readdir(join(lake.directory, id))).filter((name) => name !== 'revisions.parquet');
    const ownSources = record.sources?.run_id === id ? ['run.json', 'sources.parquet'] : ['run.json'];
    const expected = HAS_DATA.includes(record.status) ? DATA : ownSources;
    if (names.sort().join() !== expected.join()) throw new Error(`${id} (${record.status}) holds ${names}`);
    if (!HAS_DATA.includes(record.status)) continue;
    const run = await lake.run(id);
    const [counted] = await query(`SELECT count(*)::INTEGER AS n FROM read_parquet('${run.observations}')`);
    if (counted?.n !== record.rows_written) throw new Error(`${id} holds ${counted?.n} rows`);
    const series = Object.values(await lake.series(run)).reduce((sum, { rows }) => sum + rows, 0);
    if (series !== record.rows_written) throw new Error(`${id} describes ${series} rows`);
  }
  const current = await lake.current();
  if (current && current.record.status !== 'succeeded') throw new Error('the current run has not succeeded');
}

/** @returns the number of checked runs and snapshots. @throws {Error} for the first incomplete one. */
export async function checkStoredState(lakeDir: string, snapshotDir: string): Promise<number> {
  let seen = 0;
  for (const name of await readdir(lakeDir, { withFileTypes: true }).catch(() => [])) {
    if (!name.isDirectory() || name.name.startsWith('.')) continue;
    const lake = new ProviderLake(lakeDir, name.name);
    await checkProvider(lake);
    seen += (await lake.runIds()).length;
  }
  const storage = new SnapshotStorage(snapshotDir);
  for (const id of await storage.ids()) {
    const { directory, manifest } = await storage.open(id);
    await verifyFiles(directory, manifest.files);
    seen += 1;
  }
  const pointer = await readFile(join(snapshotDir, 'current'), 'utf8').catch(() => null);
  if (pointer !== null) await storage.open(pointer.trim());
  return seen;
}
