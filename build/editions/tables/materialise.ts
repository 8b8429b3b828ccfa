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
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { BOOLEAN, DOUBLE, INTEGER, listValue, VARCHAR } from '@duckdb/node-api';
import { inBatches } from '../../../data/runtime/in-parallel.ts';
import { readSql } from '../../../data/runtime/sql-files.ts';
import { observationsFile } from '../../../data/schema/snapshot.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import type { PlannedIndicator } from '../plan/plan-snapshot.ts';
import { type BaseEdition, linkUnchanged } from './file-writer.ts';
import { CriticalFactors, compareCountries, type Estimate } from './rank-intervals.ts';

const BUILD_TABLES = readSql(import.meta.url, 'sql/build-tables.sql');
const LAKE_BATCH = readSql(import.meta.url, 'sql/lake-batch.sql');
const RANKED_BATCH = readSql(import.meta.url, 'sql/ranked-batch.sql');
const WRITE_OBSERVATIONS = readSql(import.meta.url, 'sql/write-observations.sql');
const COMPARABLE_BATCH = readSql(import.meta.url, 'sql/comparable-batch.sql');
const COMPARISONS = readSql(import.meta.url, 'sql/comparisons.sql');

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
  await duck.run(BUILD_TABLES);
  await duck.fill('enabled', [{ type: VARCHAR, values: enabled }]);
  await duck.fill('planned', [
    { type: INTEGER, values: indicators.map(({ number }) => number) },
    { type: VARCHAR, values: indicators.map(({ id }) => id) },
    { type: VARCHAR, values: indicators.map(({ slug }) => slug) },
    { type: INTEGER, values: indicators.map(({ projectedFrom }) => projectedFrom) },
    { type: DOUBLE, values: indicators.map(({ ciLevel }) => ciLevel) },
    { type: BOOLEAN, values: indicators.map(({ record }) => record.higher_is_better === false) },
    { type: BOOLEAN, values: indicators.map(({ record }) => record.no_rank) },
    { type: VARCHAR, values: indicators.map(({ record }) => record.topic) },
  ]);
}

/** Loads a batch from the lake into the table `lake_batch`. */
export async function readLakeBatch(duck: DuckSession, batch: Batch): Promise<void> {
  const [first] = batch;
  const last = batch.at(-1) ?? first;
  await duck.run(LAKE_BATCH, {
    ...{ lake: first.lake, first: first.slug, last: last.slug },
    numbers: numbersOf(batch),
  });
}

/** Writes the observation files of a batch. */
export async function writeBatch(duck: DuckSession, directory: string, batch: Batch): Promise<void> {
  await readLakeBatch(duck, batch);
  await writeComparisons(duck);
  await duck.run(RANKED_BATCH);
  for (const { id, number } of batch) {
    const file = join(directory, observationsFile(id));
    await duck.run(WRITE_OBSERVATIONS, { number, indicator: id, file });
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
  await mkdir(join(directory, 'observations'), { recursive: true });
  const linked = new Set<string>();
  for (const { id, inputs } of indicators) {
    if (!(await linkUnchanged(previous, directory, observationsFile(id), inputs))) continue;
    linked.add(id);
    onFiles(linked.size);
  }
  let done = linked.size;
  for (const batch of batchIndicators(indicators.filter(({ id }) => !linked.has(id)))) {
    await writeBatch(duck, directory, batch);
    done += batch.length;
    onFiles(done);
  }
  return linked;
}

/** The comparable countries of one series and year, best first. */
interface Contest {
  number: number;
  year: number;
  level: number;
  countries: string[];
  estimates: Estimate[];
}

/** Columns of the table `comparisons`. */
class Comparisons {
  readonly #number: number[] = [];
  readonly #year: number[] = [];
  readonly #iso3: string[] = [];
  readonly #better: number[] = [];
  readonly #worse: number[] = [];
  readonly #factors = new Map<number, CriticalFactors>();

  add({ number, year, level, countries, estimates }: Contest): void {
    const factors = this.#factors.get(level) ?? new CriticalFactors(level);
    this.#factors.set(level, factors);
    compareCountries(estimates, factors).forEach(({ better, worse }, index) => {
      this.#number.push(number);
      this.#year.push(year);
      this.#iso3.push(countries[index] ?? '');
      this.#better.push(better);
      this.#worse.push(worse);
    });
  }

  async write(duck: DuckSession): Promise<void> {
    await duck.fill('comparisons', [
      { type: INTEGER, values: this.#number },
      { type: INTEGER, values: this.#year },
      { type: VARCHAR, values: this.#iso3 },
      { type: INTEGER, values: this.#better },
      { type: INTEGER, values: this.#worse },
    ]);
  }
}

async function writeComparisons(duck: DuckSession): Promise<void> {
  const comparisons = new Comparisons();
  const open: Contest[] = [];
  const close = (): void => {
    for (const contest of open.splice(0)) comparisons.add(contest);
  };
  await duck.eachChunk(COMPARABLE_BATCH, (columns, rows) => {
    const [numbers = [], years = [], iso3 = [], levels = [], scores = [], below = [], above = []] = columns;
    for (let row = 0; row < rows; row += 1) {
      const [number, year] = [Number(numbers[row]), Number(years[row])];
      if (open[0]?.number !== number || open[0].year !== year) {
        close();
        open.push({ number, year, level: Number(levels[row]), countries: [], estimates: [] });
      }
      open[0]?.countries.push(String(iso3[row]));
      open[0]?.estimates.push({
        score: Number(scores[row]),
        marginBelow: Number(below[row]),
        marginAbove: Number(above[row]),
      });
    }
  });
  close();
  await duck.run(COMPARISONS);
  await comparisons.write(duck);
}
