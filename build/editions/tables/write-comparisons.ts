/**
 * Fills the table `comparisons` with how the countries in `lake_batch` compare, for series whose confidence level is
 * declared. DuckDB selects and sorts. The pairs are compared here: 60 series of 200 countries and 60 years take 2.5 s of
 * processor time, and 20 s as a self-join.
 */
import { INTEGER, VARCHAR } from '@duckdb/node-api';
import { readSql } from '../../../data/runtime/sql-files.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import { CriticalFactors, compareCountries, type Estimate } from './rank-intervals.ts';

const COMPARABLE_BATCH = readSql(import.meta.url, 'sql/comparable-batch.sql');
const COMPARISONS = readSql(import.meta.url, 'sql/comparisons.sql');

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

export async function writeComparisons(duck: DuckSession): Promise<void> {
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
