/** What is read of observations: columns and details of one indicator, from its Parquet file through DuckDB. */
import { type DuckDBDataChunk, type DuckDBValue, INTEGER, LIST, listValue, VARCHAR } from '@duckdb/node-api';
import { readSql } from '../../../../data/runtime/sql-files.ts';
import {
  type ColumnArrays,
  IndicatorColumns,
  NO_DELTA,
  NO_RANK,
  type RowFilter,
  type SelectedRows,
} from './indicator-columns.ts';
import type { QueryRunner } from './query-runner.ts';

const COUNT_SQL = readSql(import.meta.url, 'sql/row-count.sql');
const WHOLE_SQL = readSql(import.meta.url, 'sql/all-columns.sql');
const FILTERED_SQL = readSql(import.meta.url, 'sql/columns-by-country.sql');
const YEARS_SQL = readSql(import.meta.url, 'sql/columns-by-year.sql');
const DETAILS_SQL = readSql(import.meta.url, 'sql/details.sql');

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

export interface DetailFilter {
  countries: readonly string[];
  from?: number | undefined;
  to?: number | undefined;
}

/** The details of one row, read when wanted and never kept; null where the row has none. */
export interface Detail {
  iso3: string;
  year: number;
  status: string | null;
  rank_delta_1y: number | null;
  rank_lo: number | null;
  rank_hi: number | null;
}

const numberOrNull = (cell: unknown): number | null => (cell === null ? null : Number(cell));

/** The details of the rows that pass, by country and year. @throws {QueryTimeout} {QueueFull} */
export async function readDetails(
  queries: QueryRunner,
  file: string,
  { countries, from, to }: DetailFilter,
): Promise<Detail[]> {
  const years = { from: clampYear(from ?? YEAR_MIN), to: clampYear(to ?? YEAR_MAX) };
  const chunks = await queries.run(
    DETAILS_SQL,
    { file, countries: listValue(countries), ...years },
    FILTER_TYPES,
  );
  return chunks.flatMap((chunk) =>
    chunk.getRows().map(([iso3, year, status, rank_delta_1y, rank_lo, rank_hi]) => ({
      iso3: String(iso3),
      year: Number(year),
      status: status === null ? null : String(status),
      rank_delta_1y: numberOrNull(rank_delta_1y),
      rank_lo: numberOrNull(rank_lo),
      rank_hi: numberOrNull(rank_hi),
    })),
  );
}

/** The details of selected rows. @param details of these rows at least, in the same order. */
export function detailsOf({ held, at, country }: SelectedRows, details: readonly Detail[]): Detail[] {
  let next = 0;
  return Array.from(at, (position, row) => {
    const iso3 = held.countries[country[row] ?? 0];
    const year = held.columns.year[position];
    while (next < details.length && !(details[next]?.iso3 === iso3 && details[next]?.year === year))
      next += 1;
    const found = details[next];
    if (found === undefined) throw new Error(`the row of ${iso3} in ${year} is not in its file`);
    return found;
  });
}
