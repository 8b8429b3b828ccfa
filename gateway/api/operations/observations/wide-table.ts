/** Observations in wide rows: one a country and year, with a column for the values of each series. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import { BATCH_ROWS, type Batch, type Column } from '../../encoders/encoders.ts';
import type { SelectedRows } from '../../snapshot/snapshot.ts';
import type { SelectedSeries } from './long-table.ts';

/** The wide rows of one country. */
interface CountryRows {
  years: Set<number>;
  /** In all series. */
  observations: number;
}

/** Counts wide rows while the series are counted one after the other. */
export class WideRows {
  readonly byCountry = new Map<string, CountryRows>();

  add(rows: SelectedRows): void {
    const { held, at } = rows;
    for (const { iso3, start, end } of countryRanges(rows)) {
      const counted = this.byCountry.get(iso3) ?? { years: new Set(), observations: 0 };
      for (let row = start; row < end; row += 1) counted.years.add(held.columns.year[at[row] ?? 0] ?? 0);
      counted.observations += end - start;
      this.byCountry.set(iso3, counted);
    }
  }

  get count(): number {
    return [...this.byCountry.values()].reduce((rows, { years }) => rows + years.size, 0);
  }
}

export const wideColumns = (indicators: readonly IndicatorRecord[]): Column[] => [
  { name: 'iso3', type: 'text' },
  { name: 'year', type: 'integer' },
  ...indicators.map(({ id }): Column => ({ name: id, type: 'double' })),
];

/** Countries are merged in groups whose observations fit in memory together. */
const GROUP_OBSERVATIONS = 65_536;

function* groups({ byCountry }: WideRows): Generator<string[]> {
  let group: string[] = [];
  let observations = 0;
  for (const iso3 of [...byCountry.keys()].sort()) {
    group.push(iso3);
    observations += byCountry.get(iso3)?.observations ?? 0;
    if (observations < GROUP_OBSERVATIONS) continue;
    yield group;
    group = [];
    observations = 0;
  }
  if (group.length > 0) yield group;
}

export async function* wideBatches(
  series: readonly SelectedSeries[],
  counted: WideRows,
): AsyncGenerator<Batch> {
  let batch = new GrowingBatch(series.length);
  for (const group of groups(counted)) {
    const loaded: SelectedRows[] = [];
    for (const one of series) loaded.push(await one.load(group));
    const ranges = loaded.map(
      (rows) => new Map([...countryRanges(rows)].map((range) => [range.iso3, range])),
    );
    await nextTurn();
    for (const iso3 of group) {
      const rows = mergedByYear(
        loaded,
        ranges.map((own) => own.get(iso3)),
      );
      for (const [year, values] of rows) {
        if (batch.rows === BATCH_ROWS) {
          yield batch.finish();
          batch = new GrowingBatch(series.length);
        }
        batch.add(iso3, year, values);
      }
    }
  }
  if (batch.rows > 0) yield batch.finish();
}

interface CountryRange {
  iso3: string;
  /** First row and the row after the last. */
  start: number;
  end: number;
}

function* countryRanges({ held, country }: Pick<SelectedRows, 'held' | 'country'>): Generator<CountryRange> {
  for (let start = 0; start < country.length; ) {
    let end = start + 1;
    while (end < country.length && country[end] === country[start]) end += 1;
    yield { iso3: held.countries[country[start] ?? 0] ?? '', start, end };
    start = end;
  }
}

/** The rows of a country in all series, by year: the value in each series, NaN where there is none. */
function mergedByYear(
  series: readonly SelectedRows[],
  ranges: readonly (CountryRange | undefined)[],
): [year: number, values: Float64Array][] {
  const byYear = new Map<number, Float64Array>();
  for (const [index, { held, at }] of series.entries()) {
    const { start, end } = ranges[index] ?? { start: 0, end: 0 };
    const { year, value } = held.columns;
    for (let row = start; row < end; row += 1) {
      const position = at[row] ?? 0;
      const values = byYear.get(year[position] ?? 0) ?? new Float64Array(series.length).fill(Number.NaN);
      values[index] = value[position] ?? Number.NaN;
      byYear.set(year[position] ?? 0, values);
    }
  }
  return [...byYear].sort(([a], [b]) => a - b);
}

class GrowingBatch {
  rows = 0;
  readonly #words: string[] = [];
  readonly #codes = new Int32Array(BATCH_ROWS);
  readonly #years = new Int32Array(BATCH_ROWS);
  readonly #values: readonly Float64Array[];

  constructor(series: number) {
    this.#values = Array.from({ length: series }, () => new Float64Array(BATCH_ROWS));
  }

  add(iso3: string, year: number, values: Float64Array): void {
    if (this.#words.at(-1) !== iso3) this.#words.push(iso3);
    this.#codes[this.rows] = this.#words.length - 1;
    this.#years[this.rows] = year;
    for (const [index, column] of this.#values.entries()) column[this.rows] = values[index] ?? Number.NaN;
    this.rows += 1;
  }

  finish(): Batch {
    return {
      rows: this.rows,
      vectors: [
        { type: 'text', words: this.#words, codes: this.#codes },
        { type: 'integer', values: this.#years, nullAs: null },
        ...this.#values.map((values) => ({ type: 'double' as const, values })),
      ],
    };
  }
}
