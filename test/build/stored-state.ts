/** Whatever can be seen of a lake and of a snapshot directory is whole: held after every fault that a test plays. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ProviderLake } from '../../build/lake/lake.ts';
import { SnapshotStorage } from '../../build/publish/snapshot-storage.ts';
import { verifyFiles } from '../../build/publish/verify.ts';
import { query } from './parquet-readers.ts';

/** Files of a run by what became of it. */
const HAS_DATA = ['succeeded', 'suspicious'];
const DATA = ['catalogue.json', 'fetches.json', 'observations.parquet', 'run.json', 'series.json'];

async function checkProvider(lake: ProviderLake): Promise<void> {
  for (const id of await lake.runIds()) {
    const record = await lake.record(id);
    if (record.finished_at === null || record.status === 'running')
      throw new Error(`${id} is not at its end`);
    const names = (await readdir(join(lake.directory, id))).filter((name) => name !== 'revisions.parquet');
    const expected = HAS_DATA.includes(record.status) ? DATA : ['run.json'];
    if (names.sort().join() !== expected.join()) throw new Error(`${id} (${record.status}) holds ${names}`);
    if (!HAS_DATA.includes(record.status)) continue;
    const run = await lake.run(id);
    const [counted] = await query(`SELECT count(*)::INTEGER AS n FROM read_parquet('${run.observations}')`);
    if (counted?.n !== record.rows_written) throw new Error(`${id} holds ${counted?.n} rows`);
    const series = Object.values(await lake.series(run)).reduce((sum, { rows }) => sum + rows, 0);
    if (series !== record.rows_written) throw new Error(`${id} describes ${series} rows`);
  }
  const current = await lake.current();
  if (current && current.record.status !== 'succeeded') throw new Error('a run that is not good is served');
}

/** @returns how many runs and snapshots were looked at. @throws {Error} for the first thing that is not whole. */
export async function checkStoredState(lakeDir: string, snapshotDir: string): Promise<number> {
  let seen = 0;
  for (const name of await readdir(lakeDir, { withFileTypes: true }).catch(() => [])) {
    if (!name.isDirectory() || name.name.startsWith('.')) continue;
    const lake = new ProviderLake(lakeDir, name.name);
    await checkProvider(lake);
    seen += (await lake.runIds()).length;
  }
  const shelf = new SnapshotStorage(snapshotDir);
  for (const id of await shelf.ids()) {
    const { directory, manifest } = await shelf.open(id);
    await verifyFiles(directory, manifest.files);
    seen += 1;
  }
  const pointer = await readFile(join(snapshotDir, 'current'), 'utf8').catch(() => null);
  if (pointer !== null) await shelf.open(pointer.trim());
  return seen;
}
