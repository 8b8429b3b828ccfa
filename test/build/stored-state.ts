/** Checks that everything visible in a lake and a snapshot directory is complete. Tests call it after every fault. */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SnapshotStorage } from '../../build/editions/snapshot-storage.ts';
import { type LakeRun, ProviderLake, REVISIONS } from '../../build/lake/provider-lake.ts';
import { hashFile } from '../../data/runtime/durable-files.ts';
import { contradictedEntry } from '../../data/schema/editions.ts';
import {
  editionChanges,
  type FileList,
  type FileRef,
  type Manifest,
  manifestPath,
} from '../../data/schema/snapshot.ts';
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

/** Not in every run. */
const OPTIONAL = ['revisions.parquet', 'vanished.json'];

async function checkProvider(lake: ProviderLake): Promise<void> {
  for (const id of await lake.runIds()) {
    const record = await lake.record(id);
    if (record.finished_at === null || record.status === 'running') throw new Error(`${id} has not ended`);
    const names = (await readdir(join(lake.directory, id))).filter((name) => !OPTIONAL.includes(name));
    const ownSources = record.sources?.run_id === id ? ['run.json', 'sources.parquet'] : ['run.json'];
    const expected = HAS_DATA.includes(record.status) ? DATA : ownSources;
    if (names.sort().join() !== expected.join()) throw new Error(`${id} (${record.status}) holds ${names}`);
    if (!HAS_DATA.includes(record.status)) continue;
    const run = await lake.run(id);
    const [counted] = await query(`SELECT count(*)::INTEGER AS n FROM read_parquet('${run.observations}')`);
    if (counted?.n !== record.rows_written) throw new Error(`${id} holds ${counted?.n} rows`);
    const series = Object.values(await lake.series(run)).reduce((sum, { rows }) => sum + rows, 0);
    if (series !== record.rows_written) throw new Error(`${id} describes ${series} rows`);
    await checkRevisions(lake, run);
  }
  const current = await lake.current();
  if (current && current.record.status !== 'succeeded') throw new Error('the current run has not succeeded');
}

/** The rows of the base run with the revisions applied must be the rows of the run. */
async function checkRevisions(lake: ProviderLake, run: LakeRun): Promise<void> {
  const { base_run: base, run_id: id } = run.record;
  if (base === undefined) throw new Error(`${id} names no base`);
  const held = base === null ? null : await lake.run(base).catch(() => null);
  if (!held) return;
  const file = join(run.directory, REVISIONS);
  const revised = existsSync(file) ? file : null;
  const columns = 'indicator, iso3, year, value, ci_lo, ci_hi, projected, status';
  const added = columns.replaceAll(/value|ci_lo|ci_hi|projected|status/g, (name) => `new_${name}`);
  const rebuilt = revised
    ? `SELECT ${columns} FROM read_parquet('${held.observations}') AS held
       ANTI JOIN read_parquet('${revised}') AS revised USING (indicator, iso3, year)
       UNION ALL SELECT ${added} FROM read_parquet('${revised}') WHERE new_row`
    : `SELECT ${columns} FROM read_parquet('${held.observations}')`;
  const actual = `SELECT ${columns} FROM read_parquet('${run.observations}')`;
  const [found] = await query(
    `WITH rebuilt AS (${rebuilt}), actual AS (${actual}),
       missing AS (FROM actual EXCEPT ALL FROM rebuilt), invented AS (FROM rebuilt EXCEPT ALL FROM actual)
     SELECT ((SELECT count(*) FROM missing) + (SELECT count(*) FROM invented))::INTEGER AS n`,
  );
  if (found?.n !== 0) throw new Error(`${id} differs from its revisions of ${base} in ${found?.n} rows`);
}

/** Checks that every file of a list has the content that it was published with. */
export async function verifyFiles(storage: SnapshotStorage, files: FileList): Promise<void> {
  for (const [name, { bytes, sha256 }] of Object.entries(files)) {
    const actual = await hashFile(storage.pathOf({ sha256 }));
    if (actual.bytes !== bytes || actual.sha256 !== sha256) throw new Error(`${name} is damaged`);
  }
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
    const published = await storage.open(id);
    await verifyFiles(storage, { ...published.kept, ...(await storage.prerendered(published)) });
    seen += 1;
  }
  await checkLog(storage);
  return seen;
}

/** What changed in an edition, and the figures, are stored. */
async function checkChanges(storage: SnapshotStorage, ref: FileRef): Promise<void> {
  await verifyFiles(storage, { changes: ref });
  const { revised } = editionChanges.parse(JSON.parse(await readFile(storage.pathOf(ref), 'utf8')));
  const files = Object.entries(revised).map(([indicator, { file }]) => [indicator, file]);
  await verifyFiles(storage, Object.fromEntries(files));
}

/** Each entry of the log names a manifest that says the same and an earlier base, and the pointer names an entry. */
async function checkLog(storage: SnapshotStorage): Promise<void> {
  const { editions } = await storage.log();
  const known = new Map(editions.map((entry) => [entry.edition, entry]));
  const manifests = new Map<string, Manifest>();
  for (const id of known.keys()) manifests.set(id, await storage.publishedManifest(id));
  const contradicted = contradictedEntry(editions, manifests);
  if (contradicted) throw new Error(`the manifest of ${contradicted.edition} says something else`);
  for (const { edition, manifest, base, changes, published_at: at } of editions) {
    if (changes !== null) await checkChanges(storage, changes);
    const { sha256 } = await hashFile(join(storage.directory, manifestPath(edition)));
    if (sha256 !== manifest) throw new Error(`the log names another manifest of ${edition}`);
    if (base !== null && !((known.get(base)?.published_at ?? at) < at))
      throw new Error(`${edition} has the base ${base}, which is not earlier`);
  }
  const served = await storage.currentId();
  if (served !== null && !known.has(served)) throw new Error(`${served} is served, but not in the log`);
}
