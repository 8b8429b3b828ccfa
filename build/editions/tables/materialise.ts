/**
 * Writes the observations of a snapshot: one Parquet file per indicator.
 *
 * Indicators whose inputs did not change are hard-linked from the served snapshot, so a rebuild of the catalogue
 * takes seconds. The others are computed in batches of neighbours in one lake file, which bounds memory and spreads
 * the fixed cost of a statement.
 *
 * Where the confidence level is declared, DuckDB selects and sorts the countries, and the pairs are compared here: 60
 * series of 200 countries and 60 years take 2.5 s of processor time, and 20 s as a self-join.
 */
import { join } from 'node:path';
import { BOOLEAN, DOUBLE, type DuckDBValue, INTEGER, listValue, VARCHAR } from '@duckdb/node-api';
import { inBatches } from '../../../data/runtime/in-parallel.ts';
import { sqlOf } from '../../../data/runtime/sql-files.ts';
import { observationsFile } from '../../../data/schema/snapshot.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import type { PlannedIndicator } from '../plan/plan-snapshot.ts';
import { type BaseEdition, linkUnchanged } from './file-writer.ts';
import { CriticalFactors, compareCountries } from './rank-intervals.ts';

const sql = sqlOf(import.meta.url);

/** Lake rows per batch. Statements hold a few copies of them in memory. */
const BATCH_ROWS = 1_000_000;

/** The fields of an indicator that batch statements use. */
export type BatchIndicator = Pick<
  PlannedIndicator,
  'id' | 'number' | 'slug' | 'lake' | 'lakeRows' | 'projectedFrom' | 'ciLevel'
> & { record: Pick<PlannedIndicator['record'], 'higher_is_better' | 'no_rank' | 'topic'> };

/** Indicators of one lake file by id. */
export type Batch<Indicator extends BatchIndicator = BatchIndicator> = [Indicator, ...Indicator[]];

/** Splits indicators by id into batches of one lake file and at most `BATCH_ROWS` rows, or one indicator. */
export function batchIndicators<Indicator extends BatchIndicator>(
  indicators: readonly Indicator[],
): Batch<Indicator>[] {
  return inBatches(
    indicators.toSorted((a, b) => a.number - b.number),
    BATCH_ROWS,
    ({ lakeRows }) => lakeRows,
    ({ lake }, first) => lake === first.lake,
  );
}

/** Indicator numbers of a batch, as an SQL parameter. */
export const numbersOf = (batch: readonly BatchIndicator[]) => listValue(batch.map(({ number }) => number));

/** Published files of a batch, as an SQL parameter. */
export const filesOf = (directory: string, batch: readonly BatchIndicator[]) =>
  listValue(batch.map(({ id }) => join(directory, observationsFile(id))));

/** Creates the tables of a build and fills in enabled countries and planned indicators. */
export async function prepareTables(
  duck: DuckSession,
  enabled: readonly string[],
  indicators: readonly BatchIndicator[],
): Promise<void> {
  await duck.run(sql('build-tables'));
  const codes = enabled.map((iso3) => [iso3]);
  await duck.fill('enabled', [VARCHAR], codes);
  const planned = indicators.map(({ number, id, slug, projectedFrom, ciLevel, record }) => [
    ...[number, id, slug, projectedFrom, ciLevel],
    ...[record.higher_is_better === false, record.no_rank, record.topic],
  ]);
  const types = [INTEGER, VARCHAR, VARCHAR, INTEGER, DOUBLE, BOOLEAN, BOOLEAN, VARCHAR];
  await duck.fill('planned', types, planned);
}

/** Loads a batch from the lake into the table `lake_batch`. */
export async function readLakeBatch(duck: DuckSession, batch: Batch): Promise<void> {
  const [first] = batch;
  const last = batch.at(-1) ?? first;
  await duck.run(sql('lake-batch'), {
    lake: first.lake,
    first: first.slug,
    last: last.slug,
    numbers: numbersOf(batch),
  });
}

/** Writes the observation files of a batch. */
export async function writeBatch(duck: DuckSession, directory: string, batch: Batch): Promise<void> {
  await readLakeBatch(duck, batch);
  await writeComparisons(duck);
  await duck.run(sql('ranked-batch'));
  for (const { id, number } of batch) {
    const file = join(directory, observationsFile(id));
    await duck.run(sql('write-observations'), { number, indicator: id, file });
  }
}

/**
 * Writes or links the observation file of every indicator.
 * @returns the ids of linked indicators.
 */
export async function writeObservations(
  duck: DuckSession,
  directory: string,
  indicators: readonly PlannedIndicator[],
  previous: BaseEdition | null,
  onFiles: (done: number) => void,
): Promise<Set<string>> {
  const inputs = new Map(indicators.map((one) => [observationsFile(one.id), one.inputs]));
  const files = await linkUnchanged(previous, directory, inputs, onFiles);
  const changed = indicators.filter(({ id }) => files.has(observationsFile(id)));
  let done = indicators.length - changed.length;
  for (const batch of batchIndicators(changed)) {
    await writeBatch(duck, directory, batch);
    done += batch.length;
    onFiles(done);
  }
  return new Set(indicators.flatMap(({ id }) => (files.has(observationsFile(id)) ? [] : [id])));
}

/** Fills the table `comparisons` from the comparable countries of each series and year, best first. */
async function writeComparisons(duck: DuckSession): Promise<void> {
  const found: [number: DuckDBValue, year: DuckDBValue, iso3: DuckDBValue, better: number, worse: number][] =
    [];
  const factors = new Map<number, CriticalFactors>();
  for await (const countries of duck.groups(sql('comparable-batch'), 2)) {
    const level = Number(countries[0]?.[3]);
    const ofLevel = factors.get(level) ?? new CriticalFactors(level);
    factors.set(level, ofLevel);
    const estimates = countries.map(([, , , , score, marginBelow, marginAbove]) => ({
      score: Number(score),
      marginBelow: Number(marginBelow),
      marginAbove: Number(marginAbove),
    }));
    for (const [at, { better, worse }] of compareCountries(estimates, ofLevel).entries()) {
      const [number = null, year = null, iso3 = null] = countries[at] ?? [];
      found.push([number, year, iso3, better, worse]);
    }
  }
  await duck.run(sql('comparisons'));
  await duck.fill('comparisons', [INTEGER, INTEGER, VARCHAR, INTEGER, INTEGER], found);
}
