/**
 * The figures of a snapshot: one Parquet file per indicator.
 *
 * An indicator whose inputs are those of the snapshot being served is hard-linked from it, so that a rebuild of the
 * catalogue takes seconds. The others are read from the lake a batch at a time: neighbours in one lake file, so many
 * that what a statement costs by itself hardly counts and so few that memory does not grow with the lake.
 */
import { link, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { BOOLEAN, INTEGER, listValue, VARCHAR } from '@duckdb/node-api';
import { observationsFile } from '../../data/schema/snapshot.ts';
import type { Published } from '../publish/snapshot-storage.ts';
import { type DuckSession, readSql } from '../runtime/duckdb.ts';
import { hashFile } from './file-writer.ts';
import type { PlannedIndicator } from './plan-snapshot.ts';

const BUILD_TABLES = readSql(import.meta.url, 'sql/build-tables.sql');
const LAKE_BATCH = readSql(import.meta.url, 'sql/lake-batch.sql');
const RANKED_BATCH = readSql(import.meta.url, 'sql/ranked-batch.sql');
const WRITE_OBSERVATIONS = readSql(import.meta.url, 'sql/write-observations.sql');

/** Rows of the lake that are worked on at once; the statements of a batch hold a few copies of them. */
const BATCH_ROWS = 1_000_000;

/** What the statements of a batch need of an indicator. */
export type BatchIndicator = Pick<
  PlannedIndicator,
  'id' | 'number' | 'slug' | 'lake' | 'lakeRows' | 'projectedFrom'
> & { record: Pick<PlannedIndicator['record'], 'higher_is_better' | 'no_rank'> };

/** Indicators of one lake file, in the order of their ids. Never empty. */
export interface Batch<Indicator extends BatchIndicator = BatchIndicator> {
  first: Indicator;
  last: Indicator;
  indicators: Indicator[];
}

/** Deals indicators out into batches of at most `rows` rows (or one indicator), in the order of their ids. */
export function batchIndicators<Indicator extends BatchIndicator>(
  indicators: readonly Indicator[],
  rows = BATCH_ROWS,
): Batch<Indicator>[] {
  const batches: Batch<Indicator>[] = [];
  let room = 0;
  for (const indicator of indicators.toSorted((a, b) => a.number - b.number)) {
    const batch = batches.at(-1);
    room -= indicator.lakeRows;
    if (batch?.first.lake === indicator.lake && room >= 0) {
      batch.indicators.push(indicator);
      batch.last = indicator;
    } else {
      batches.push({ first: indicator, last: indicator, indicators: [indicator] });
      room = rows - indicator.lakeRows;
    }
  }
  return batches;
}

/** The numbers of a batch as a bound value. */
export const numbersOf = ({ indicators }: Batch) => listValue(indicators.map(({ number }) => number));

/** The published files of a batch as a bound value. */
export const filesOf = (directory: string, { indicators }: Batch) =>
  listValue(indicators.map(({ id }) => join(directory, observationsFile(id))));

/** Makes the tables that every statement of a build reads: served countries and planned indicators. */
export async function prepareTables(
  duck: DuckSession,
  enabled: readonly string[],
  indicators: readonly BatchIndicator[],
): Promise<void> {
  await duck.run(BUILD_TABLES);
  await duck.fill('enabled', [{ type: VARCHAR, values: enabled }]);
  await duck.fill('planned', [
    { type: INTEGER, values: indicators.map(({ number }) => number) },
    { type: VARCHAR, values: indicators.map(({ id }) => id) },
    { type: VARCHAR, values: indicators.map(({ slug }) => slug) },
    { type: INTEGER, values: indicators.map(({ projectedFrom }) => projectedFrom) },
    { type: BOOLEAN, values: indicators.map(({ record }) => record.higher_is_better === false) },
    { type: BOOLEAN, values: indicators.map(({ record }) => record.no_rank) },
  ]);
}

/** Reads what the lake has of a batch into the table `lake_batch`. */
export async function readLakeBatch(duck: DuckSession, batch: Batch): Promise<void> {
  const { first, last } = batch;
  await duck.run(LAKE_BATCH, {
    lake: first.lake,
    first: first.slug,
    last: last.slug,
    numbers: numbersOf(batch),
  });
}

/** Writes the observation files of a batch. */
export async function writeBatch(duck: DuckSession, directory: string, batch: Batch): Promise<void> {
  await readLakeBatch(duck, batch);
  await duck.run(RANKED_BATCH);
  for (const { id, number } of batch.indicators) {
    await duck.run(WRITE_OBSERVATIONS, { number, file: join(directory, observationsFile(id)) });
  }
}

/**
 * Writes (or links) the observation file of every indicator.
 * @returns the ids that were linked.
 */
export async function writeObservations(
  duck: DuckSession,
  directory: string,
  indicators: readonly PlannedIndicator[],
  previous: Published | null,
  onFiles: (done: number) => void,
): Promise<Set<string>> {
  await mkdir(join(directory, 'observations'), { recursive: true });
  const linked = await linkUnchanged(directory, indicators, previous, onFiles);
  let done = linked.size;
  for (const batch of batchIndicators(indicators.filter(({ id }) => !linked.has(id)))) {
    await writeBatch(duck, directory, batch);
    done += batch.indicators.length;
    onFiles(done);
  }
  return linked;
}

async function linkUnchanged(
  directory: string,
  indicators: readonly PlannedIndicator[],
  previous: Published | null,
  onFiles: (done: number) => void,
): Promise<Set<string>> {
  const linked = new Set<string>();
  if (previous === null) return linked;
  for (const { id, inputs } of indicators) {
    const file = observationsFile(id);
    if (!(await isReusable(previous, file, inputs))) continue;
    await link(join(previous.directory, file), join(directory, file));
    linked.add(id);
    onFiles(linked.size);
  }
  return linked;
}

/** Made from the same inputs, and still what its manifest says: a damaged file is not handed on. */
async function isReusable(previous: Published, file: string, inputs: string): Promise<boolean> {
  const known = previous.manifest.files[file];
  if (known?.inputs !== inputs) return false;
  const actual = await hashFile(join(previous.directory, file)).catch(() => null);
  return actual?.sha256 === known.sha256;
}
