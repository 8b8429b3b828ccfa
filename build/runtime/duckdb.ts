/**
 * DuckDB sessions for the build: bounded memory and threads, SQL from `.sql` files, bound values.
 *
 * A session is in memory and spills to its own scratch directory. A crash leaves only that directory, which the next
 * session with the same scratch path removes.
 */
import { mkdir, rm } from 'node:fs/promises';
import {
  BIGINT,
  BOOLEAN,
  DOUBLE,
  type DuckDBAppender,
  type DuckDBConnection,
  DuckDBDataChunk,
  DuckDBInstance,
  type DuckDBType,
  type DuckDBValue,
  INTEGER,
  type Json,
  VARCHAR,
} from '@duckdb/node-api';
import { z } from 'zod';

export type SqlParameters = Record<string, DuckDBValue>;
export type SqlRow = Record<string, Json>;

export interface DuckOptions {
  /** Spill directory; created on open, removed on close. */
  scratch: string;
  memoryMb?: number;
}

const THREADS = '2';
/** Lake runs and published files never change, so their Parquet footers may be cached. */
const SESSION = 'SET GLOBAL parquet_metadata_cache = true';

export class DuckSession {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;
  readonly #scratch: string;

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection, scratch: string) {
    this.#instance = instance;
    this.#connection = connection;
    this.#scratch = scratch;
  }

  static async open({ scratch, memoryMb = 1024 }: DuckOptions): Promise<DuckSession> {
    await rm(scratch, { recursive: true, force: true });
    await mkdir(scratch, { recursive: true });
    const instance = await DuckDBInstance.create(':memory:', {
      threads: THREADS,
      memory_limit: `${memoryMb}MB`,
      temp_directory: scratch,
    });
    const duck = new DuckSession(instance, await instance.connect(), scratch);
    await duck.run(SESSION);
    return duck;
  }

  async run(sql: string, parameters?: SqlParameters): Promise<void> {
    await this.#connection.run(sql, parameters);
  }

  /** Returns the rows of a query. 64-bit integers come as text. */
  async rows(sql: string, parameters?: SqlParameters): Promise<SqlRow[]> {
    const reader = await this.#connection.runAndReadAll(sql, parameters);
    return reader.getRowObjectsJson();
  }

  /** Returns the rows of a query as a schema reads them. */
  async select<Row>(schema: z.ZodType<Row>, sql: string, parameters?: SqlParameters): Promise<Row[]> {
    return z.array(schema).parse(await this.rows(sql, parameters));
  }

  /** Streams the result of a query as chunks of columns. Doubles stay doubles, which JSON rows would not keep. */
  async eachChunk(
    sql: string,
    onChunk: (columns: DuckDBValue[][], rows: number) => void,
    parameters?: SqlParameters,
  ): Promise<void> {
    for await (const chunk of await this.#connection.stream(sql, parameters))
      onChunk(chunk.getColumns(), chunk.rowCount);
  }

  /** Streams the result of a query in groups of neighbouring rows with the same first cells. @param key how many */
  async *groups(sql: string, key: number, parameters?: SqlParameters): AsyncGenerator<DuckDBValue[][]> {
    let group: DuckDBValue[][] = [];
    for await (const rows of (await this.#connection.stream(sql, parameters)).yieldRows())
      for (const row of rows) {
        const [first] = group;
        if (first?.slice(0, key).some((cell, at) => cell !== row[at])) {
          yield group;
          group = [];
        }
        group.push(row);
      }
    if (group.length > 0) yield group;
  }

  /** Appends rows to a table with the given column types. */
  async fill(name: string, types: readonly DuckDBType[], rows: readonly TableRow[]): Promise<void> {
    const table = new RowTable(name, types, await this.#connection.createAppender(name));
    for (const row of rows) table.add(row);
    table.close();
  }

  /** Creates a table, or empties it, to be filled row by row. @param columns types by name */
  async createTable(name: string, columns: Readonly<Record<string, keyof typeof TYPES>>): Promise<RowTable> {
    const declared = Object.entries(columns).map(([column, type]) => `"${column}" ${type}`);
    await this.run(`CREATE OR REPLACE TABLE ${name} (${declared.join(', ')})`);
    const types = Object.values(columns).map((type) => TYPES[type]);
    return new RowTable(name, types, await this.#connection.createAppender(name));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async close(): Promise<void> {
    this.#connection.closeSync();
    this.#instance.closeSync();
    await rm(this.#scratch, { recursive: true, force: true });
  }
}

const TYPES = { BIGINT, BOOLEAN, DOUBLE, INTEGER, VARCHAR } as const;
const CHUNK_ROWS = 2048;
type TableRow = readonly DuckDBValue[];

/** A table that is filled row by row and spills to disk when it grows. Rows reach DuckDB a chunk at a time. */
export class RowTable {
  readonly name: string;
  /** Rows added so far. */
  added = 0;
  readonly #types: readonly DuckDBType[];
  readonly #appender: DuckDBAppender;
  #rows: TableRow[] = [];

  constructor(name: string, types: readonly DuckDBType[], appender: DuckDBAppender) {
    this.name = name;
    this.#types = types;
    this.#appender = appender;
  }

  add(row: TableRow): void {
    this.added += 1;
    if (this.#rows.push(row) === CHUNK_ROWS) this.#append();
  }

  /** Appends the last chunk. Nothing can be added afterwards. */
  close(): void {
    this.#append();
    this.#appender.closeSync();
  }

  #append(): void {
    const chunk = DuckDBDataChunk.create(this.#types, this.#rows.length);
    chunk.setRows(this.#rows);
    this.#appender.appendDataChunk(chunk);
    this.#rows = [];
  }
}
