/**
 * DuckDB over published files: a small pool of connections, prepared statements, bound values, a timeout that
 * covers waiting and running. A query that times out is interrupted, and its connection is reused. Then what is read of
 * observations: columns and details of one indicator, from its Parquet file.
 */

import {
  type DuckDBConnection,
  type DuckDBDataChunk,
  DuckDBInstance,
  type DuckDBPreparedStatement,
  type DuckDBType,
  type DuckDBValue,
  INTEGER,
  LIST,
  listValue,
  VARCHAR,
} from '@duckdb/node-api';
import pLimit from 'p-limit';
import { readSql } from '../../../../data/runtime/sql-files.ts';
import { QueueFull } from '../../core/errors.ts';
import {
  type ColumnArrays,
  IndicatorColumns,
  NO_DELTA,
  NO_RANK,
  type RowFilter,
  type SelectedRows,
} from './indicator-columns.ts';

/** A query timed out; nothing is wrong with the request. */
export class QueryTimeout extends Error {
  override name = 'QueryTimeout';
}

const SESSION_SQL = readSql(import.meta.url, 'sql/session.sql');
const CONNECTIONS = 4;
/** At 1 to 2 ms per query, the last in the queue waits for half a second. */
const QUEUE_MAX = 512;
/** A published file has few row groups: a second thread costs memory and a tenth of the time of a query. */
const THREADS = '1';
const MEMORY_MB = 64;
/** Enough to read all columns of the largest indicator. */
const MEMORY_MIN_MB = 32;
const INSTANCE_OPTIONS = {
  enable_external_file_cache: 'false',
  autoinstall_known_extensions: 'false',
};

const INTERRUPT_INTERVAL_MS = 20;

interface PooledConnection {
  connection: DuckDBConnection;
  statements: Map<string, DuckDBPreparedStatement>;
}
export class QueryRunner {
  readonly #instance: DuckDBInstance;
  readonly #timeoutMs: number;
  readonly #pool: readonly PooledConnection[];
  readonly #free: PooledConnection[];
  readonly #limit = pLimit(CONNECTIONS);
  #closed = false;

  private constructor(instance: DuckDBInstance, pool: PooledConnection[], timeoutMs: number) {
    this.#instance = instance;
    this.#pool = pool;
    this.#free = [...pool];
    this.#timeoutMs = timeoutMs;
  }

  /**
   * @param timeoutMs longest time of one query, waiting included.
   * @param processCount how many processes have the machine together, each with a runner.
   */
  static async open(timeoutMs: number, processCount = 1): Promise<QueryRunner> {
    const instance = await DuckDBInstance.create(':memory:', {
      ...INSTANCE_OPTIONS,
      threads: THREADS,
      max_memory: `${Math.max(MEMORY_MIN_MB, Math.floor(MEMORY_MB / processCount))}MB`,
    });
    const pool: PooledConnection[] = [];
    for (let pooled = 0; pooled < CONNECTIONS; pooled += 1) {
      const connection = await instance.connect();
      pool.push({ connection, statements: new Map() });
    }
    await pool[0]?.connection.run(SESSION_SQL);
    return new QueryRunner(instance, pool, timeoutMs);
  }

  /** Runs one statement with named values bound. @throws {QueryTimeout} @throws {QueueFull} */
  async run(
    sql: string,
    values: Record<string, DuckDBValue>,
    types: Record<string, DuckDBType> = {},
  ): Promise<DuckDBDataChunk[]> {
    if (this.#limit.pendingCount >= QUEUE_MAX) throw new QueueFull(`${QUEUE_MAX} queries are queued`);
    const deadline = performance.now() + this.#timeoutMs;
    // Queries that wait end in time, because those before them do: their deadlines are earlier.
    return this.#limit(() => this.#query(sql, values, types, deadline));
  }

  async #query(
    sql: string,
    values: Record<string, DuckDBValue>,
    types: Record<string, DuckDBType>,
    deadline: number,
  ): Promise<DuckDBDataChunk[]> {
    const pooled = this.#closed ? undefined : this.#free.pop();
    if (pooled === undefined) throw new Error('DuckDB was closed');
    let interrupted = false;
    // DuckDB ignores an interrupt that arrives before the query has started, so it is repeated.
    const interrupt = (): void => {
      interrupted = true;
      pooled.connection.interrupt();
      timer = setTimeout(interrupt, INTERRUPT_INTERVAL_MS);
    };
    let timer = setTimeout(interrupt, Math.max(1, deadline - performance.now()));
    try {
      if (performance.now() >= deadline)
        throw new QueryTimeout(`no connection became free within ${this.#timeoutMs} ms`);
      const statement = await this.#statement(pooled, sql);
      statement.bind(values, types);
      const result = await statement.run();
      // The result is materialised: reading its chunks synchronously saves a thread hop for each.
      return Array.from({ length: result.chunkCount }, (_, index) => result.getChunk(index));
    } catch (error) {
      if (interrupted) throw new QueryTimeout(`a query took longer than ${this.#timeoutMs} ms`);
      throw error;
    } finally {
      clearTimeout(timer);
      this.#free.push(pooled);
      if (this.#closed) this.#freeWhenIdle();
    }
  }

  /** Frees DuckDB, once the queries that run have ended. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#freeWhenIdle();
  }

  #freeWhenIdle(): void {
    if (this.#free.length < this.#pool.length) return;
    for (const { connection, statements } of this.#pool) {
      for (const statement of statements.values()) statement.destroySync();
      connection.closeSync();
    }
    this.#instance.closeSync();
  }

  async #statement(pooled: PooledConnection, sql: string): Promise<DuckDBPreparedStatement> {
    const known = pooled.statements.get(sql);
    if (known) return known;
    const statement = await pooled.connection.prepare(sql);
    pooled.statements.set(sql, statement);
    return statement;
  }
}

const WHOLE_SQL = readSql(import.meta.url, 'sql/all-columns.sql');
const FILTERED_SQL = readSql(import.meta.url, 'sql/columns-by-country.sql');
const HISTORIES_SQL = readSql(import.meta.url, 'sql/histories-by-country.sql');
const YEARS_SQL = readSql(import.meta.url, 'sql/columns-by-year.sql');
const STATUSES_SQL = readSql(import.meta.url, 'sql/statuses.sql');
const DETAILS_SQL = readSql(import.meta.url, 'sql/details.sql');

/** Keeps a caller's years within the column's type; no series has years outside it. */
export function yearRange({ from, to }: Pick<RowFilter, 'from' | 'to'>): { from: number; to: number } {
  const clamp = (year: number): number => Math.min(Math.max(year, -2_147_483_648), 2_147_483_647);
  return { from: clamp(from ?? Number.NEGATIVE_INFINITY), to: clamp(to ?? Number.POSITIVE_INFINITY) };
}
const YEAR_TYPES = { from: INTEGER, to: INTEGER };
const FILTER_TYPES = { ...YEAR_TYPES, countries: LIST(VARCHAR) };

/** Columns in the order of the results of the queries, after the country, and what stands where one is missing. */
const ORDER = [
  ['year', Number.NaN],
  ['value', Number.NaN],
  ['ciLo', Number.NaN],
  ['ciHi', Number.NaN],
  ['rank', NO_RANK],
  ['projected', 0],
  // Not selected when filtering by countries.
  ['rankDelta', NO_DELTA],
] as const;

/** By row; null where no row has one. */
export type Statuses = readonly (string | null)[] | null;

/** All rows of one indicator. @throws {QueryTimeout} */
export async function readAllColumns(queries: QueryRunner, file: string): Promise<IndicatorColumns> {
  const chunks = await queries.run(WHOLE_SQL, { file });
  const rows = sumRowCounts(chunks);
  const columns = emptyColumns(rows);
  for (const [at, [name]] of ORDER.entries()) gather(chunks, at + 1, columns[name]);
  return toIndicatorColumns(columns, gather(chunks, 0, new Int32Array(rows)), unpackCountry);
}

/** The rows of one indicator that pass the filter. A filter by countries leaves out changes of rank. @throws {QueryTimeout} */
export async function readFilteredColumns(
  queries: QueryRunner,
  file: string,
  filter: RowFilter,
): Promise<IndicatorColumns> {
  const { countries } = filter;
  const years = { file, ...yearRange(filter) };
  const chunks =
    countries === undefined
      ? await queries.run(YEARS_SQL, years, YEAR_TYPES)
      : await queries.run(FILTERED_SQL, { ...years, countries: listValue(countries) }, FILTER_TYPES);
  return fewColumns(chunks, countries === undefined);
}

/** The rows of some countries with their statuses, in one read. @throws {QueryTimeout} {QueueFull} */
export async function readHistories(
  queries: QueryRunner,
  file: string,
  countries: readonly string[],
): Promise<{ columns: IndicatorColumns; statuses: Statuses }> {
  const values = { file, countries: listValue(countries) };
  const chunks = await queries.run(HISTORIES_SQL, values, { countries: LIST(VARCHAR) });
  return { columns: fewColumns(chunks, false), statuses: statusesIn(chunks, ORDER.length) };
}

function fewColumns(chunks: readonly DuckDBDataChunk[], hasRankDelta: boolean): IndicatorColumns {
  const columns = emptyColumns(sumRowCounts(chunks));
  const valuesOf = (at: number): DuckDBValue[] => chunks.flatMap((chunk) => chunk.getColumnValues(at));
  for (const [at, [name, missing]] of ORDER.entries()) {
    const isRead = name !== 'rankDelta' || hasRankDelta;
    if (isRead) fill(columns[name], valuesOf(at + 1), missing);
    else columns[name].fill(missing);
  }
  return toIndicatorColumns(columns, valuesOf(0).map(String), (code) => code);
}

type NumericArray = Float64Array | Int32Array | Int16Array | Uint8Array;
type WideColumns = ColumnArrays & { ciLo: Float64Array; ciHi: Float64Array };

const sumRowCounts = (chunks: readonly DuckDBDataChunk[]): number =>
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

/**
 * The status of each row that passes, in the order of the columns; null where none has one: most series.
 * @throws {QueryTimeout} {QueueFull}
 */
export async function readStatuses(
  queries: QueryRunner,
  file: string,
  { countries, ...years }: RowFilter,
): Promise<Statuses> {
  if (countries?.length === 0) return null;
  const values = { file, countries: listValue(countries ?? []), ...yearRange(years) };
  return statusesIn(await queries.run(STATUSES_SQL, values, FILTER_TYPES), 0);
}

function statusesIn(chunks: readonly DuckDBDataChunk[], column: number): Statuses {
  const words = new Map<string, string>();
  const statuses = chunks.flatMap((chunk) =>
    chunk.getColumnValues(column).map((status) => {
      if (status === null) return null;
      const text = String(status);
      if (!words.has(text)) words.set(text, text);
      return words.get(text) ?? null;
    }),
  );
  return words.size === 0 ? null : statuses;
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

const DETAIL_COLUMNS = ['iso3', 'year', 'status', 'rank_delta_1y', 'rank_lo', 'rank_hi'];

/** The details of the rows that pass, by country and year. @throws {QueryTimeout} {QueueFull} */
export async function readDetails(
  queries: QueryRunner,
  file: string,
  { countries, ...years }: DetailFilter,
): Promise<Detail[]> {
  const values = { file, countries: listValue(countries), ...yearRange(years) };
  const chunks = await queries.run(DETAILS_SQL, values, FILTER_TYPES);
  return chunks.flatMap((chunk) => chunk.getRowObjects(DETAIL_COLUMNS) as unknown as Detail[]);
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
