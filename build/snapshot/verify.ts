/**
 * Looks a snapshot over before it is served: every figure is a row of the lake, every rank right, every file as the
 * manifest says, and nothing in it that must not leave the building. Whatever is wrong is a `SnapshotFault` and the
 * snapshot is not published.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { MANIFEST, type Manifest, observationsFile } from '../../data/schema/snapshot.ts';
import type { Duck } from '../duckdb.ts';
import { hashFile } from './file-writer.ts';
import { type IndicatorCoverage, indicatorParameters } from './materialise.ts';
import type { PlannedIndicator, SnapshotPlan } from './plan.ts';

/** What is wrong with a snapshot. */
export class SnapshotFault extends Error {
  override name = 'SnapshotFault';
}

/** Holds observation files against the lake. */
export async function verifyFigures(
  duck: Duck,
  directory: string,
  indicators: readonly PlannedIndicator[],
  coverage: ReadonlyMap<string, IndicatorCoverage>,
  onIndicator: (done: number) => void,
): Promise<void> {
  for (const [index, indicator] of indicators.entries()) {
    const file = join(directory, observationsFile(indicator.id));
    const [row] = await duck.rows('verify-observations', { ...indicatorParameters(indicator), file });
    const facts = Object.entries(row ?? {}).map(([name, count]): [string, number] => [name, Number(count)]);
    const { n_rows = -1, n_expected = 0, ...faults } = Object.fromEntries(facts);
    if (n_rows !== n_expected || n_rows !== (coverage.get(indicator.id)?.rows ?? 0)) {
      throw new SnapshotFault(`${indicator.id}: ${n_rows} rows published, ${n_expected} in the lake`);
    }
    const fault = Object.entries(faults).find(([, count]) => count !== 0);
    if (fault) throw new SnapshotFault(`${indicator.id}: ${fault[1]} rows are wrong (${fault[0]})`);
    onIndicator(index + 1);
  }
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

const ID_CHARACTER = /[A-Za-z0-9_.-]/;

/** Whether the id stands in the text as a word of its own: `a.b` does not stand in `a.b.c`. */
function standsIn(text: string, id: string): boolean {
  for (let at = text.indexOf(id); at >= 0; at = text.indexOf(id, at + 1)) {
    const before = text[at - 1] ?? '';
    const after = text[at + id.length] ?? '';
    if (!ID_CHARACTER.test(before) && !ID_CHARACTER.test(after)) return true;
  }
  return false;
}

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
    const found = plan.withheld.find((one) => standsIn(text, one));
    if (found !== undefined) throw new SnapshotFault(`${path} names ${found}, which must not be published`);
  }
}
