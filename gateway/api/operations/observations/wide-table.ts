/** Observations in wide rows: one a country and year, with a column for the values of each series. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import { BATCH_ROWS, type Batch, type Column } from '../../encoders/tables/table.ts';
import type { SelectedRows } from '../../snapshot/rows/selected-rows.ts';
import type { SelectedSeries, SeriesSelection } from './series-selection.ts';

/** The wide rows of one country. */
interface CountryRows {
  years: Set<number>;
  /** In all series. */
  observations: number;
}

/** Counts wide rows while the series are counted one after the other. */
export class WideRows {
  readonly byCountry = new Map<string, CountryRows>();

  add({ held, at, country }: SelectedRows): void {
    for (const { iso3, start, end } of countryRanges({ held, country })) {
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

export async function* wideBatches({ series }: SeriesSelection, counted: WideRows): AsyncGenerator<Batch> {
  let batch = new GrowingBatch(series.length);
  for (const group of groups(counted)) {
    const loaded: SeriesByCountry[] = [];
    for (const one of series) loaded.push(await loadByCountry(one, group));
    await nextTurn();
    for (const iso3 of group) {
      for (const row of mergedByYear(loaded, iso3)) {
        if (batch.rows === BATCH_ROWS) {
          yield batch.finish();
          batch = new GrowingBatch(series.length);
        }
        batch.add(iso3, row);
      }
    }
  }
  if (batch.rows > 0) yield batch.finish();
}

interface SeriesByCountry {
  selected: SelectedRows;
  /** First row and the row after the last. */
  rowsOf: ReadonlyMap<string, { start: number; end: number }>;
}

/** First row and the row after the last of each country. */
function* countryRanges({ held, country }: Pick<SelectedRows, 'held' | 'country'>) {
  for (let start = 0; start < country.length; ) {
    let end = start + 1;
    while (end < country.length && country[end] === country[start]) end += 1;
    yield { iso3: held.countries[country[start] ?? 0] ?? '', start, end };
    start = end;
  }
}

async function loadByCountry({ load }: SelectedSeries, group: readonly string[]): Promise<SeriesByCountry> {
  const selected = await load(group);
  return { selected, rowsOf: new Map([...countryRanges(selected)].map((range) => [range.iso3, range])) };
}

/** Goes through the rows of a country in one series. */
class Cursor {
  /** Of the row; infinite after the last. */
  year: number;
  readonly #selected: SelectedRows;
  #row: number;
  readonly #end: number;

  constructor({ selected, rowsOf }: SeriesByCountry, iso3: string) {
    const { start, end } = rowsOf.get(iso3) ?? { start: 0, end: 0 };
    this.#selected = selected;
    this.#row = start;
    this.#end = end;
    this.year = this.#yearHere();
  }

  /** The value of the row, and on to the next one. */
  take(): number {
    const { held, at } = this.#selected;
    const value = held.columns.value[at[this.#row] ?? 0] ?? Number.NaN;
    this.#row += 1;
    this.year = this.#yearHere();
    return value;
  }

  #yearHere(): number {
    const { held, at } = this.#selected;
    return this.#row < this.#end ? (held.columns.year[at[this.#row] ?? 0] ?? 0) : Number.POSITIVE_INFINITY;
  }
}

interface WideRow {
  year: number;
  /** By series; NaN where there is none. */
  values: Float64Array;
}

/** The rows of a country in all series, merged. The same row object is used again and again. */
function* mergedByYear(series: readonly SeriesByCountry[], iso3: string): Generator<WideRow> {
  const cursors = series.map((one) => new Cursor(one, iso3));
  const values = new Float64Array(series.length);
  while (true) {
    let year = Number.POSITIVE_INFINITY;
    for (const cursor of cursors) if (cursor.year < year) year = cursor.year;
    if (year === Number.POSITIVE_INFINITY) return;
    let index = 0;
    for (const cursor of cursors) {
      values[index] = cursor.year === year ? cursor.take() : Number.NaN;
      index += 1;
    }
    yield { year, values };
  }
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

  add(iso3: string, { year, values }: WideRow): void {
    if (this.#words.at(-1) !== iso3) this.#words.push(iso3);
    this.#codes[this.rows] = this.#words.length - 1;
    this.#years[this.rows] = year;
    for (let index = 0; index < values.length; index += 1) {
      const column = this.#values[index];
      if (column !== undefined) column[this.rows] = values[index] ?? Number.NaN;
    }
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
