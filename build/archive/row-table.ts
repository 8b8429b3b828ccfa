/** Rows on their way to Parquet: gathered a chunk at a time and appended to a DuckDB table, which spills when it grows. */
import { BIGINT, type DuckDBType, type DuckDBValue, INTEGER, VARCHAR } from '@duckdb/node-api';
import type { ColumnAppender } from '../runtime/column-appender.ts';
import type { DuckSession } from '../runtime/duckdb.ts';
import type { Cell } from './entry-row.ts';

const TYPES: Readonly<Record<string, DuckDBType>> = { BIGINT, INTEGER, VARCHAR };
const CHUNK_ROWS = 2048;

export class RowTable {
  readonly #appender: ColumnAppender;
  readonly #columns: DuckDBValue[][];
  #rows = 0;
  #added = 0;

  private constructor(appender: ColumnAppender, width: number) {
    this.#appender = appender;
    this.#columns = Array.from({ length: width }, () => []);
  }

  /** @param columns of the table, by name, in its order. */
  static async open(
    duck: DuckSession,
    table: string,
    columns: Readonly<Record<string, string>>,
  ): Promise<RowTable> {
    const types = Object.values(columns).map((name) => TYPES[name] ?? VARCHAR);
    return new RowTable(await duck.appender(table, types), types.length);
  }

  /** Rows added so far. */
  get added(): number {
    return this.#added;
  }

  add(row: readonly Cell[]): void {
    row.forEach((cell, column) => {
      const cells = this.#columns[column];
      if (cells) cells[this.#rows] = cell;
    });
    this.#added += 1;
    this.#rows += 1;
    if (this.#rows === CHUNK_ROWS) this.#append();
  }

  /** Hands over what is gathered; nothing can be added afterwards. */
  close(): void {
    this.#append();
    this.#appender.close();
  }

  #append(): void {
    this.#appender.append(this.#columns, this.#rows);
    this.#rows = 0;
  }
}
