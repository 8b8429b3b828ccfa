/**
 * Rows of one indicator as typed columns, sorted by country and year, and reading them from Parquet through DuckDB.
 *
 * A filter by countries and years is a handful of row ranges found by binary search; no figure is copied. Doubles
 * pass through unchanged; a missing one is NaN here and null outside.
 */

import { type DuckDBDataChunk, type DuckDBValue, INTEGER, LIST, listValue, VARCHAR } from '@duckdb/node-api';
import { readSql } from '../../../../data/runtime/sql-files.ts';
import type { QueryRunner } from './query-runner.ts';

/** A missing rank; ranks start at 1. */
export const NO_RANK = 0;
/** A missing change of rank; outside the range of any list of countries. */
export const NO_DELTA = -32768;

export interface ColumnArrays {
  year: Int32Array;
  value: Float64Array;
  /** Null when no row has bounds: most series. */
  ciLo: Float64Array | null;
  ciHi: Float64Array | null;
  rank: Int16Array;
  rankDelta: Int16Array;
  projected: Uint8Array;
}

/** Rows from `start` up to, not including, `end`. */
export interface RowRange {
  start: number;
  end: number;
}

/** Absent members select everything. Years are inclusive. */
export interface RowFilter {
  /** ISO 3166-1 alpha-3, upper case, sorted, each once. */
  countries?: readonly string[] | undefined;
  from?: number | undefined;
  to?: number | undefined;
}

export class IndicatorColumns {
  readonly rows: number;
  readonly columns: ColumnArrays;
  /** Countries in row order; `starts` holds each one's first row, and the number of rows as its last entry. */
  readonly countries: readonly string[];
  readonly starts: Uint32Array;
  readonly #position: Map<string, number>;

  constructor(columns: ColumnArrays, countries: readonly string[], starts: Uint32Array) {
    this.rows = columns.year.length;
    this.columns = columns;
    this.countries = countries;
    this.starts = starts;
    this.#position = new Map(countries.map((country, index) => [country, index]));
  }

  /** Memory held by the columns. */
  get bytes(): number {
    const { year, value, ciLo, ciHi, rank, rankDelta, projected } = this.columns;
    const bounds = (ciLo?.byteLength ?? 0) + (ciHi?.byteLength ?? 0);
    const fixed = year.byteLength + value.byteLength + rank.byteLength + rankDelta.byteLength;
    return fixed + projected.byteLength + bounds + this.starts.byteLength + this.countries.length * 64;
  }

  /** The row of one country and year, or -1. */
  rowOf(country: string, year: number): number {
    const position = this.#position.get(country);
    if (position === undefined) return -1;
    const end = this.#end(position);
    const row = this.#firstFrom(this.#start(position), end, year);
    return row < end && this.columns.year[row] === year ? row : -1;
  }

  /** The ranges of rows that pass the filter, in row order, touching ones merged. */
  select(filter: RowFilter): RowRange[] {
    const { countries, from, to } = filter;
    if (countries === undefined && from === undefined && to === undefined) {
      return this.rows === 0 ? [] : [{ start: 0, end: this.rows }];
    }
    const ranges: RowRange[] = [];
    for (const position of this.#positions(countries)) {
      const last = this.#end(position);
      const start =
        from === undefined ? this.#start(position) : this.#firstFrom(this.#start(position), last, from);
      const end = to === undefined ? last : this.#firstFrom(start, last, to + 1);
      if (start === end) continue;
      const previous = ranges.at(-1);
      if (previous?.end === start) previous.end = end;
      else ranges.push({ start, end });
    }
    return ranges;
  }

  #positions(countries: readonly string[] | undefined): Iterable<number> {
    if (countries === undefined) return this.countries.keys();
    return countries
      .map((country) => this.#position.get(country))
      .filter((position) => position !== undefined);
  }

  #start(position: number): number {
    return this.starts[position] ?? 0;
  }

  #end(position: number): number {
    return this.starts[position + 1] ?? this.rows;
  }

  /** The first row of `start`..`end` whose year is at least `year`; `end` when there is none. */
  #firstFrom(start: number, end: number, year: number): number {
    const years = this.columns.year;
    let low = start;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((years[middle] ?? 0) < year) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The shortest text that reads back as the same double; `-0` keeps its sign. */
export const formatDouble = (value: number): string => (Object.is(value, -0) ? '-0.0' : String(value));

export function countRows(ranges: readonly RowRange[]): number {
  return ranges.reduce((rows, range) => rows + range.end - range.start, 0);
}

const COUNT_SQL = readSql(import.meta.url, 'sql/row-count.sql');
const WHOLE_SQL = readSql(import.meta.url, 'sql/all-columns.sql');
const FILTERED_SQL = readSql(import.meta.url, 'sql/columns-by-country.sql');
const YEARS_SQL = readSql(import.meta.url, 'sql/columns-by-year.sql');

/** Keeps a caller's year within the column's type; no series has years outside it. */
export const YEAR_MIN = -2_147_483_648;
export const YEAR_MAX = 2_147_483_647;
export const clampYear = (year: number): number => Math.min(Math.max(year, YEAR_MIN), YEAR_MAX);
const YEAR_TYPES = { from: INTEGER, to: INTEGER };
const FILTER_TYPES = { ...YEAR_TYPES, countries: LIST(VARCHAR) };

/** Column positions in the results of the queries. */
const COUNTRY = 0;
const YEAR = 1;
const VALUE = 2;
const CI_LO = 3;
const CI_HI = 4;
const RANK = 5;
const PROJECTED = 6;
/** Not selected when filtering by countries. */
const RANK_DELTA = 7;

/** All rows of one indicator. @throws {QueryTimeout} */
export async function readAllColumns(queries: QueryRunner, file: string): Promise<IndicatorColumns> {
  const chunks = await queries.run(WHOLE_SQL, { file });
  const rows = countRowsOf(chunks);
  const columns = emptyColumns(rows);
  gather(chunks, YEAR, columns.year);
  gather(chunks, VALUE, columns.value);
  gather(chunks, CI_LO, columns.ciLo);
  gather(chunks, CI_HI, columns.ciHi);
  gather(chunks, RANK, columns.rank);
  gather(chunks, RANK_DELTA, columns.rankDelta);
  gather(chunks, PROJECTED, columns.projected);
  const country = gather(chunks, COUNTRY, new Int32Array(rows));
  return toIndicatorColumns(columns, country, unpackCountry);
}

/** Of one indicator. @throws {QueryTimeout} */
export async function countFileRows(queries: QueryRunner, file: string): Promise<number> {
  const [chunk] = await queries.run(COUNT_SQL, { file });
  return Number(chunk?.getRows()[0]?.[0]);
}

/** The rows of one indicator that pass the filter. A filter by countries leaves out changes of rank. @throws {QueryTimeout} */
export async function readFilteredColumns(
  queries: QueryRunner,
  file: string,
  { countries, from, to }: RowFilter,
): Promise<IndicatorColumns> {
  const years = { file, from: clampYear(from ?? YEAR_MIN), to: clampYear(to ?? YEAR_MAX) };
  const chunks =
    countries === undefined
      ? await queries.run(YEARS_SQL, years, YEAR_TYPES)
      : await queries.run(FILTERED_SQL, { ...years, countries: listValue(countries) }, FILTER_TYPES);
  const columns = emptyColumns(countRowsOf(chunks));
  const country = valuesOf(chunks, COUNTRY).map(String);
  fill(columns.year, valuesOf(chunks, YEAR), Number.NaN);
  fill(columns.value, valuesOf(chunks, VALUE), Number.NaN);
  fill(columns.ciLo, valuesOf(chunks, CI_LO), Number.NaN);
  fill(columns.ciHi, valuesOf(chunks, CI_HI), Number.NaN);
  fill(columns.rank, valuesOf(chunks, RANK), NO_RANK);
  if (countries === undefined) fill(columns.rankDelta, valuesOf(chunks, RANK_DELTA), NO_DELTA);
  else columns.rankDelta.fill(NO_DELTA);
  fill(columns.projected, valuesOf(chunks, PROJECTED), 0);
  return toIndicatorColumns(columns, country, (code) => code);
}

type NumericArray = Float64Array | Int32Array | Int16Array | Uint8Array;
type WideColumns = ColumnArrays & { ciLo: Float64Array; ciHi: Float64Array };

const countRowsOf = (chunks: readonly DuckDBDataChunk[]): number =>
  chunks.reduce((total, chunk) => total + chunk.rowCount, 0);

const emptyColumns = (rows: number): WideColumns => ({
  year: new Int32Array(rows),
  value: new Float64Array(rows),
  ciLo: new Float64Array(rows),
  ciHi: new Float64Array(rows),
  rank: new Int16Array(rows),
  rankDelta: new Int16Array(rows),
  projected: new Uint8Array(rows),
});

/** Copies one numeric column out of all chunks, whose own memory DuckDB frees. */
function gather<Column extends NumericArray>(
  chunks: readonly DuckDBDataChunk[],
  index: number,
  column: Column,
): Column {
  let row = 0;
  for (const chunk of chunks) {
    const vector = chunk.getColumnVector(index);
    if (!('items' in vector) || !ArrayBuffer.isView(vector.items)) {
      throw new TypeError(`column ${index} of an indicator is not a plain numeric vector`);
    }
    column.set((vector.items as Column).subarray(0, chunk.rowCount), row);
    row += chunk.rowCount;
  }
  return column;
}

const valuesOf = (chunks: readonly DuckDBDataChunk[], index: number): DuckDBValue[] =>
  chunks.flatMap((chunk) => chunk.getColumnValues(index));

function fill(column: NumericArray, values: readonly DuckDBValue[], missing: number): void {
  for (const [row, value] of values.entries()) column[row] = value === null ? missing : Number(value);
}

const unpackCountry = (packed: number): string =>
  String.fromCharCode((packed >> 16) & 255, (packed >> 8) & 255, packed & 255);

const allMissing = (column: Float64Array): boolean => column.every(Number.isNaN);

/** Finds where each country's rows begin. @throws when the rows are not sorted by country and year. */
function toIndicatorColumns<Code extends number | string>(
  columns: WideColumns,
  country: ArrayLike<Code>,
  nameOf: (code: Code) => string,
): IndicatorColumns {
  const countries: string[] = [];
  const starts: number[] = [];
  let before: Code | undefined;
  let yearBefore = Number.NEGATIVE_INFINITY;
  for (const [row, year] of columns.year.entries()) {
    const code = country[row] as Code;
    const sorted = before === undefined || code > before || (code === before && year > yearBefore);
    if (!sorted) throw new Error('observations are not sorted by country and year');
    if (code !== before) {
      countries.push(nameOf(code));
      starts.push(row);
    }
    before = code;
    yearBefore = year;
  }
  const bounded = !(allMissing(columns.ciLo) && allMissing(columns.ciHi));
  const kept = bounded ? columns : { ...columns, ciLo: null, ciHi: null };
  return new IndicatorColumns(kept, countries, Uint32Array.from([...starts, columns.year.length]));
}
