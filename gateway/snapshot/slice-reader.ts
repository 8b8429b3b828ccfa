/** Reads slices out of the snapshot's Parquet through DuckDB, as typed columns. */
import { readFileSync } from 'node:fs';
import { type DuckDBDataChunk, type DuckDBValue, INTEGER, LIST, listValue, VARCHAR } from '@duckdb/node-api';
import type { QueryRunner } from './query-runner.ts';
import { Slice, type SliceFilter } from './slice.ts';

const sqlText = (name: string): string => readFileSync(new URL(`sql/${name}`, import.meta.url), 'utf8');
const WHOLE_SQL = sqlText('slice.sql');
const FILTERED_SQL = sqlText('slice-filtered.sql');

/** Years outside are no years of any series; the bounds keep a caller's number inside the column's type. */
const YEAR_MIN = -2_147_483_648;
const YEAR_MAX = 2_147_483_647;
const clampYear = (year: number): number => Math.min(Math.max(year, YEAR_MIN), YEAR_MAX);

const FILTER_TYPES = { countries: LIST(VARCHAR), from: INTEGER, to: INTEGER };

/** Positions of the columns that both queries give. */
const COUNTRY = 0;
const YEAR = 1;
const VALUE = 2;
const CI_LO = 3;
const CI_HI = 4;
const RANK = 5;
const RANK_DELTA = 6;
const PROJECTED = 7;

/** All rows of one indicator. @throws {QueryTimeout} */
export async function readWholeSlice(queries: QueryRunner, file: string): Promise<Slice> {
  return toSlice(await queries.run(WHOLE_SQL, { file }));
}

/** The rows of one indicator that pass the filter. @throws {QueryTimeout} */
export async function readFilteredSlice(
  queries: QueryRunner,
  file: string,
  filter: SliceFilter,
): Promise<Slice> {
  const countries = filter.countries ?? [];
  const values: Record<string, DuckDBValue> = {
    file,
    countries: listValue(countries),
    first: countries[0] ?? '',
    last: countries.at(-1) ?? '~',
    from: clampYear(filter.from ?? YEAR_MIN),
    to: clampYear(filter.to ?? YEAR_MAX),
  };
  // An asked-for empty list of countries has no rows; the query's empty list means every country.
  if (filter.countries?.length === 0) return toSlice([]);
  return toSlice(await queries.run(FILTERED_SQL, values, FILTER_TYPES));
}

type NumericArray = Float64Array | Int32Array | Int16Array | Uint8Array;

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

const unpackCountry = (packed: number): string =>
  String.fromCharCode((packed >> 16) & 255, (packed >> 8) & 255, packed & 255);

const allMissing = (column: Float64Array): boolean => column.every(Number.isNaN);

function toSlice(chunks: readonly DuckDBDataChunk[]): Slice {
  const rows = chunks.reduce((total, chunk) => total + chunk.rowCount, 0);
  const country = gather(chunks, COUNTRY, new Int32Array(rows));
  const ciLo = gather(chunks, CI_LO, new Float64Array(rows));
  const ciHi = gather(chunks, CI_HI, new Float64Array(rows));
  const bounded = !(allMissing(ciLo) && allMissing(ciHi));
  const year = gather(chunks, YEAR, new Int32Array(rows));
  const columns = {
    year,
    value: gather(chunks, VALUE, new Float64Array(rows)),
    ciLo: bounded ? ciLo : null,
    ciHi: bounded ? ciHi : null,
    rank: gather(chunks, RANK, new Int16Array(rows)),
    rankDelta: gather(chunks, RANK_DELTA, new Int16Array(rows)),
    projected: gather(chunks, PROJECTED, new Uint8Array(rows)),
  };
  const { countries, starts } = countryRuns(country, year);
  return new Slice(columns, countries, starts);
}

/** Where each country's rows begin. @throws when the file is not sorted by country and year. */
function countryRuns(country: Int32Array, year: Int32Array): { countries: string[]; starts: Uint32Array } {
  const countries: string[] = [];
  const starts: number[] = [];
  for (let row = 0; row < country.length; row += 1) {
    const code = country[row] ?? 0;
    const before = row === 0 ? -1 : (country[row - 1] ?? 0);
    const sorted = code > before || (code === before && (year[row] ?? 0) > (year[row - 1] ?? 0));
    if (!sorted) throw new Error('observations are not sorted by country and year');
    if (code === before) continue;
    countries.push(unpackCountry(code));
    starts.push(row);
  }
  starts.push(country.length);
  return { countries, starts: Uint32Array.from(starts) };
}
