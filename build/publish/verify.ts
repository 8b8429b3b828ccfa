/**
 * Looks a snapshot over before it is served: every figure is a row of the lake, every rank right, every file as the
 * manifest says, and nothing in it that must not leave the building. Whatever is wrong is a `SnapshotFault` and the
 * snapshot is not published.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { MANIFEST, type Manifest } from '../../data/schema/snapshot.ts';
import { hashFile } from '../editions/file-writer.ts';
import { filesOf, inBatches, numbersOf, readLakeBatch } from '../editions/materialise.ts';
import type { PlannedIndicator, SnapshotPlan } from '../editions/plan.ts';
import type { IndicatorCoverage } from '../editions/tables.ts';
import type { Duck, SqlRow } from '../runtime/duckdb.ts';

/** What is wrong with a snapshot. */
export class SnapshotFault extends Error {
  override name = 'SnapshotFault';
}

/** Holds observation files against the lake, a batch at a time. */
export async function verifyFigures(
  duck: Duck,
  directory: string,
  indicators: readonly PlannedIndicator[],
  coverage: ReadonlyMap<string, IndicatorCoverage>,
  onIndicators: (done: number) => void,
): Promise<void> {
  const ids = new Map(indicators.map(({ number, id }) => [number, id]));
  let done = 0;
  for (const batch of inBatches(indicators)) {
    await readLakeBatch(duck, batch);
    await duck.run('published-batch', { files: filesOf(directory, batch) });
    const rows = await duck.rows('verify-batch', { numbers: numbersOf(batch) });
    for (const { number, ...facts } of rows) {
      const id = ids.get(Number(number)) ?? '';
      judge(id, facts, coverage.get(id)?.rows ?? 0);
    }
    done += batch.indicators.length;
    onIndicators(done);
  }
}

/** @throws {SnapshotFault} unless the counts of one indicator say that all is well. */
function judge(id: string, facts: SqlRow, covered: number): void {
  const counts = Object.entries(facts).map(([name, count]): [string, number] => [name, Number(count)]);
  const { n_rows = -1, n_expected = 0, ...faults } = Object.fromEntries(counts);
  if (n_rows !== n_expected || n_rows !== covered) {
    throw new SnapshotFault(`${id}: ${n_rows} rows published, ${n_expected} in the lake`);
  }
  const fault = Object.entries(faults).find(([, count]) => count !== 0);
  if (fault) throw new SnapshotFault(`${id}: ${fault[1]} rows are wrong (${fault[0]})`);
}

/** All files below a directory, as the manifest names them. */
export async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    .sort();
}

/** Holds every file against the manifest: none missing, none added, none changed. */
export async function verifyFiles(directory: string, files: Manifest['files']): Promise<void> {
  const found = new Set((await filesBelow(directory)).filter((path) => path !== MANIFEST));
  for (const [path, { bytes, sha256 }] of Object.entries(files)) {
    if (!found.delete(path)) throw new SnapshotFault(`${path} is missing`);
    const actual = await hashFile(join(directory, path));
    if (actual.bytes !== bytes || actual.sha256 !== sha256) {
      throw new SnapshotFault(`${path} has another content than its manifest says`);
    }
  }
  const [extra] = found;
  if (extra !== undefined) throw new SnapshotFault(`${extra} is not in the manifest`);
}

/** A run of characters that ids are made of: `a.b` does not stand in `a.b.c`. */
const WORDS = /[A-Za-z0-9_.-]+/g;

/** Searches every name and every readable byte for indicators that must not be published. */
export async function verifyWithheld(directory: string, plan: SnapshotPlan): Promise<void> {
  if (plan.withheld.length === 0) return;
  const files = await filesBelow(directory);
  const withheld = new Set(plan.withheld);
  for (const path of files) {
    const id =
      /^observations\/(.*)\.parquet$/.exec(path)?.[1] ?? /^routes\/indicators\/(.*)\.json/.exec(path)?.[1];
    if (id !== undefined && withheld.has(id)) throw new SnapshotFault(`${path} must not be published`);
    if (!path.endsWith('.json')) continue;
    const text = await readFile(join(directory, path), 'utf8');
    for (const [word] of text.matchAll(WORDS)) {
      if (withheld.has(word)) throw new SnapshotFault(`${path} names ${word}, which must not be published`);
    }
  }
}
