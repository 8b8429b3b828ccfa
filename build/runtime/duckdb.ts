/**
 * DuckDB as the build uses it: bounded memory and threads, statements from `.sql` files, values bound.
 *
 * Every session is in memory and spills to its own scratch directory, so nothing of it survives a crash but files that
 * the next session of the same owner removes.
 */
import { readFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  type DuckDBConnection,
  DuckDBInstance,
  type DuckDBType,
  type DuckDBValue,
  type Json,
} from '@duckdb/node-api';
import { type AppendColumn, ColumnAppender } from './column-appender.ts';

export type SqlParameters = Record<string, DuckDBValue>;
export type SqlRow = Record<string, Json>;

export interface DuckOptions {
  /** Where it spills to; made when needed and removed when the session closes. */
  scratch: string;
  memoryMb?: number;
  threads?: number;
}

const SQL_DIRECTORY = fileURLToPath(new URL('sql/', import.meta.url));
const statements = new Map<string, string>();

/** The text of `build/sql/<name>.sql`. */
function statement(name: string): string {
  const known = statements.get(name);
  if (known !== undefined) return known;
  const text = readFileSync(`${SQL_DIRECTORY}${name}.sql`, 'utf8');
  statements.set(name, text);
  return text;
}

export class Duck {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;
  readonly #scratch: string;

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection, scratch: string) {
    this.#instance = instance;
    this.#connection = connection;
    this.#scratch = scratch;
  }

  static async open({ scratch, memoryMb = 1024, threads = 2 }: DuckOptions): Promise<Duck> {
    await rm(scratch, { recursive: true, force: true });
    await mkdir(scratch, { recursive: true });
    const instance = await DuckDBInstance.create(':memory:', {
      threads: String(threads),
      memory_limit: `${memoryMb}MB`,
      temp_directory: scratch,
    });
    const duck = new Duck(instance, await instance.connect(), scratch);
    await duck.run('session');
    return duck;
  }

  /** Runs one statement of `build/sql/`. */
  async run(name: string, parameters?: SqlParameters): Promise<void> {
    await this.#connection.run(statement(name), parameters);
  }

  /** Runs one statement of `build/sql/` and returns its rows; 64-bit integers come as text. */
  async rows(name: string, parameters?: SqlParameters): Promise<SqlRow[]> {
    const reader = await this.#connection.runAndReadAll(statement(name), parameters);
    return reader.getRowObjectsJson();
  }

  /**
   * Hands on the result of a statement piece by piece, as columns in its own order: for figures, which JSON would turn
   * into text, and for more rows than should lie in memory twice.
   */
  async eachChunk(name: string, onChunk: (columns: DuckDBValue[][], rows: number) => void): Promise<void> {
    const result = await this.#connection.stream(statement(name));
    for (;;) {
      const chunk = await result.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) return;
      onChunk(chunk.getColumns(), chunk.rowCount);
    }
  }

  /** Appends whole columns of one length to a table. */
  async fill(table: string, columns: readonly { type: DuckDBType; values: AppendColumn }[]): Promise<void> {
    const appender = await this.appender(
      table,
      columns.map(({ type }) => type),
    );
    appender.append(
      columns.map(({ values }) => values),
      columns[0]?.values.length ?? 0,
    );
    appender.close();
  }

  /** Appends to a table column by column. */
  async appender(table: string, types: readonly DuckDBType[]): Promise<ColumnAppender> {
    return new ColumnAppender(await this.#connection.createAppender(table), types);
  }

  async close(): Promise<void> {
    this.#connection.closeSync();
    this.#instance.closeSync();
    await rm(this.#scratch, { recursive: true, force: true });
  }
}
