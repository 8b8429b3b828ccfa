/** What observations have besides figures and rank: asked for seldom, so it is read when wanted and never kept. */
import { INTEGER, LIST, listValue, VARCHAR } from '@duckdb/node-api';
import { readSql } from '../../../../data/runtime/sql-files.ts';
import { clampYear, YEAR_MAX, YEAR_MIN } from './indicator-columns.ts';
import type { QueryRunner } from './query-runner.ts';
import type { SelectedRows } from './selected-rows.ts';

export interface DetailFilter {
  countries: readonly string[];
  from?: number | undefined;
  to?: number | undefined;
}

/** The details of one row; null where the row has none. */
export interface Detail {
  iso3: string;
  year: number;
  status: string | null;
  rank_delta_1y: number | null;
  rank_lo: number | null;
  rank_hi: number | null;
}

const HAS_STATUS_SQL = readSql(import.meta.url, 'sql/has-status.sql');
const DETAILS_SQL = readSql(import.meta.url, 'sql/details.sql');
const TYPES = { countries: LIST(VARCHAR), from: INTEGER, to: INTEGER };

const numberOrNull = (cell: unknown): number | null => (cell === null ? null : Number(cell));

/** The details of the rows that pass, by country and year. @throws {QueryTimeout} {QueueFull} */
export async function readDetails(
  queries: QueryRunner,
  file: string,
  { countries, from, to }: DetailFilter,
): Promise<Detail[]> {
  const years = { from: clampYear(from ?? YEAR_MIN), to: clampYear(to ?? YEAR_MAX) };
  const chunks = await queries.run(DETAILS_SQL, { file, countries: listValue(countries), ...years }, TYPES);
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

/** Whether any row of a file has a status. @throws {QueryTimeout} {QueueFull} */
export async function hasStatus(queries: QueryRunner, file: string): Promise<boolean> {
  const [chunk] = await queries.run(HAS_STATUS_SQL, { file }, {});
  return chunk?.getRows()[0]?.[0] === true;
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
