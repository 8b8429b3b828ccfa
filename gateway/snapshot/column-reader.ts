/**
 * Reads slices out of the snapshot's Parquet through DuckDB, as typed columns.
 *
 * A whole slice comes as plain numbers (see slice.sql) and is copied column by column; the few rows of a filter come
 * as they are stored and are read one by one.
 */
import { readFileSync } from 'node:fs';
import { type DuckDBDataChunk, type DuckDBValue, INTEGER, LIST, listValue, VARCHAR } from '@duckdb/node-api';
import {
  type ColumnArrays,
  IndicatorColumns,
  NO_DELTA,
  NO_RANK,
  type RowFilter,
} from './indicator-columns.ts';
import type { QueryRunner } from './query-runner.ts';

const sqlText = (name: string): string => readFileSync(new URL(`sql/${name}`, import.meta.url), 'utf8');
const WHOLE_SQL = sqlText('slice.sql');
const FILTERED_SQL = sqlText('slice-filtered.sql');
const YEARS_SQL = sqlText('slice-years.sql');

/** Years outside are no years of any series; the bounds keep a caller's number inside the column's type. */
const YEAR_MIN = -2_147_483_648;
const YEAR_MAX = 2_147_483_647;
const clampYear = (year: number): number => Math.min(Math.max(year, YEAR_MIN), YEAR_MAX);
const YEAR_TYPES = { from: INTEGER, to: INTEGER };
const FILTER_TYPES = { ...YEAR_TYPES, countries: LIST(VARCHAR) };

/** Positions of the columns that the queries give. */
const COUNTRY = 0;
const YEAR = 1;
const VALUE = 2;
const CI_LO = 3;
const CI_HI = 4;
const RANK = 5;
const PROJECTED = 6;
/** Not among the columns of a filter by countries. */
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
  return toSlice(columns, country, unpackCountry);
}

/** The rows of one indicator that pass the filter; by countries, without changes of rank. @throws {QueryTimeout} */
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
  return toSlice(columns, country, (code) => code);
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

/** Copies one numeric column out of all chunks. DuckDB's own memory is freed with the chunks. */
function gather<Column extends NumericArray>(
  chunks: readonly DuckDBDataChunk[],
  index: number,
  column: Column,
): Column {
  let row = 0;
  for (const chunk of chunks) {
    const vector = chunk.getColumnVector(index);
    if (!('items' in vector) || !ArrayBuffer.isView(vector.items)) {
      throw new TypeError(`column ${index} of a slice is not a plain numeric vector`);
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

/**
 * Finds where each country's rows begin.
 * @throws when the rows are not sorted by country and year.
 */
function toSlice<Code extends number | string>(
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
