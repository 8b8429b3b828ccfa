/**
 * Verifies a snapshot before it is served, or on request: every observation is a row of the lake, every rank is right
 * and within its interval, every file matches the manifest, and nothing withheld is in it. Any failure is a
 * `SnapshotError`.
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Curated } from '../../data/curated/curated.ts';
import { unpackJson } from '../../data/runtime/durable-files.ts';
import { withLock } from '../../data/runtime/file-lock.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import { sqlOf } from '../../data/runtime/sql-files.ts';
import { observationsFile, observedIndicators } from '../../data/schema/snapshot.ts';
import { yearOf } from '../lake/lake.ts';
import { DuckSession, type SqlRow } from '../runtime/duckdb.ts';
import { CommandError } from '../runtime/errors.ts';
import { type PlannedIndicator, planSnapshot, type SnapshotPlan } from './plan/plan-snapshot.ts';
import { scrub } from './retention.ts';
import { SnapshotStorage, VIEW } from './snapshot-storage.ts';
import {
  type BatchIndicator,
  batchIndicators,
  filesOf,
  numbersOf,
  prepareTables,
  readLakeBatch,
} from './tables/materialise.ts';
import { type IndicatorCoverage, loadCountrySeries, readCoverage } from './tables/summary-tables.ts';

const sql = sqlOf(import.meta.url);

/** A snapshot failed verification. */
export class SnapshotError extends CommandError {
  override name = 'SnapshotError';
}

/** Compares observation files with the lake, batch by batch. @throws {SnapshotError} */
export async function verifyFigures(
  duck: DuckSession,
  directory: string,
  indicators: readonly BatchIndicator[],
  coverage: ReadonlyMap<string, IndicatorCoverage>,
  onIndicators: (done: number) => void,
): Promise<void> {
  const ids = new Map(indicators.map(({ number, id }) => [number, id]));
  let done = 0;
  for (const batch of batchIndicators(indicators)) {
    await readLakeBatch(duck, batch);
    await duck.run(sql('published-batch'), { files: filesOf(directory, batch) });
    const rows = await duck.rows(sql('verify-batch'), { numbers: numbersOf(batch) });
    for (const { number, ...facts } of rows) {
      const id = ids.get(Number(number)) ?? '';
      checkCounts(id, facts, coverage.get(id)?.rows ?? 0);
    }
    done += batch.length;
    onIndicators(done);
  }
}

/** @throws {SnapshotError} unless the counts of one indicator are consistent. */
function checkCounts(id: string, facts: SqlRow, covered: number): void {
  const counts = Object.entries(facts).map(([name, count]): [string, number] => [name, Number(count)]);
  const { n_rows = -1, n_expected = 0, ...faults } = Object.fromEntries(counts);
  if (n_rows !== n_expected || n_rows !== covered) {
    throw new SnapshotError(`${id}: ${n_rows} rows published, ${n_expected} in the lake`);
  }
  const fault = Object.entries(faults).find(([, count]) => count !== 0);
  if (fault) throw new SnapshotError(`${id}: ${fault[1]} rows are wrong (${fault[0]})`);
}

/** Whole ids: `a.b` does not match within `a.b.c`. */
const IDS = /[A-Za-z0-9_.-]+/g;

/** The first of some ids that a text names, also at the end of a sentence. */
export function firstNamed(text: string, ids: ReadonlySet<string>): string | undefined {
  for (const [word] of text.matchAll(IDS)) {
    const named = [word, word.replace(/\.+$/, '')].find((one) => ids.has(one));
    if (named !== undefined) return named;
  }
  return undefined;
}

/** Files of a single indicator. */
const FILES_OF_ONE = /^(?:observations|excerpts|groups|routes\/indicators)\/(.*)\.(?:parquet|json)/;

/** Searches names and JSON bodies of files for withheld indicators. @throws {SnapshotError} */
export async function verifyWithheld(
  directory: string,
  files: readonly string[],
  plan: Pick<SnapshotPlan, 'withheld'>,
): Promise<void> {
  if (plan.withheld.length === 0) return;
  const withheld = new Set(plan.withheld);
  for (const path of files) {
    const id = FILES_OF_ONE.exec(path)?.[1];
    if (id !== undefined && withheld.has(id)) throw new SnapshotError(`${path} must not be published`);
    if (!path.endsWith('.json')) continue;
    const text = unpackJson(await readFile(join(directory, path)));
    const named = firstNamed(text, withheld);
    if (named !== undefined) throw new SnapshotError(`${path} names ${named}, which must not be published`);
  }
}

const MEMORY_MB = 768;

/** Compares the figures of unchanged indicators with the lake. @throws {LockHeldError} while another process does so. */
async function traceFigures(
  lakeDirectory: string,
  directory: string,
  { countries }: SnapshotPlan,
  unchanged: readonly PlannedIndicator[],
): Promise<void> {
  await withLock(join(lakeDirectory, '.verify.lock'), 'the verification', {}, async () => {
    const scratch = join(lakeDirectory, '.scratch-verify');
    await using duck = await DuckSession.open({ scratch, memoryMb: MEMORY_MB });
    const codes = countries.map(({ iso3 }) => iso3);
    await prepareTables(duck, codes, unchanged);
    if (unchanged.length === 0) return;
    await loadCountrySeries(duck, directory, unchanged);
    await verifyFigures(duck, directory, unchanged, await readCoverage(duck), () => {});
  });
}

export interface Verification {
  snapshot: string;
  files: number;
  /** Objects of all snapshots. */
  objects: number;
  /** Indicators whose every observation was found in the lake. */
  traced: number;
  /** Indicators that were ingested or curated again since, so the lake has a newer edition. */
  outdated: number;
}

/**
 * Verifies the stored objects of all snapshots, and the served one against the lake and the publication rules.
 * @throws {SnapshotError} for the first failure, and for all objects that are missing or damaged; {CommandError} when no snapshot is published.
 */
export async function verifyPublished(
  settings: Pick<Settings, 'LAKE_DIR' | 'SNAPSHOT_DIR' | 'SNAPSHOT_KEEP'>,
  curated: Curated,
  now: number,
): Promise<Verification> {
  const storage = new SnapshotStorage(settings.SNAPSHOT_DIR);
  const id = await storage.currentId();
  if (id === null) throw new CommandError('no snapshot is published');
  const published = await storage.open(id);
  const prerendered = await storage.prerendered(published);
  if (prerendered === null) throw new SnapshotError('the list of prerendered files is missing');
  const files = { ...published.kept, ...prerendered };
  const { objects, damaged } = await scrub(storage, { keep: settings.SNAPSHOT_KEEP });
  if (damaged.length > 0) throw new SnapshotError(damaged.join('\n'));
  const plan = await planSnapshot(settings.LAKE_DIR, curated, new Map(), yearOf(now));
  const unchanged = plan.indicators.filter(
    (one) => published.kept[observationsFile(one.id)]?.inputs === one.inputs,
  );
  const view = await mkdtemp(join(settings.SNAPSHOT_DIR, VIEW));
  try {
    await storage.show(files, view);
    await traceFigures(settings.LAKE_DIR, view, plan, unchanged);
    // An indicator that was published before it was withheld is legitimately in this snapshot.
    const withheld = plan.withheld.filter((one) => !published.kept[observationsFile(one)]);
    await verifyWithheld(view, Object.keys(files), { withheld });
  } finally {
    await rm(view, { recursive: true, force: true });
  }
  return {
    snapshot: id,
    files: Object.keys(files).length,
    objects,
    traced: unchanged.length,
    outdated: observedIndicators(published.kept).length - unchanged.length,
  };
}
