/** DuckDB over the files of the archive: opened by the first query, with bounded memory, threads, time and concurrency. */
import { DuckDBInstance, type DuckDBValue, LIST, listValue, VARCHAR } from '@duckdb/node-api';
import pLimit from 'p-limit';

interface EngineLimits {
  memoryMb: number;
  threads: number;
  /** Limit of one query, without its time in the queue. */
  timeoutMs: number;
  /** Directory for spilling to disk; without it a query that needs more memory fails. */
  scratch?: string;
}

type SqlValue = DuckDBValue | readonly string[];
export type SqlRow = Readonly<Record<string, DuckDBValue>>;

const CONCURRENT_QUERIES = 2;

export class ArchiveEngine {
  readonly #limits: EngineLimits;
  #instance: Promise<DuckDBInstance> | null = null;
  readonly #limit = pLimit(CONCURRENT_QUERIES);

  constructor(limits: EngineLimits) {
    this.#limits = limits;
  }

  /**
   * Rows of one statement with named values bound. 64-bit integers come as `bigint`.
   * Rejects with the error of DuckDB, also after the timeout.
   */
  rows(sql: string, values: Readonly<Record<string, SqlValue>> = {}): Promise<SqlRow[]> {
    return this.#limit(() => this.#query(sql, values));
  }

  /** Releases its memory. Call when no query is running; the next query opens it again. */
  async close(): Promise<void> {
    const instance = this.#instance;
    this.#instance = null;
    (await instance?.catch(() => null))?.closeSync();
  }

  async #query(sql: string, values: Readonly<Record<string, SqlValue>>): Promise<SqlRow[]> {
    this.#instance ??= DuckDBInstance.create(':memory:', optionsOf(this.#limits)).catch((error: unknown) => {
      this.#instance = null;
      throw error;
    });
    const connection = await (await this.#instance).connect();
    const timer = setTimeout(() => connection.interrupt(), this.#limits.timeoutMs);
    try {
      const { bound, types } = bind(values);
      const reader = await connection.runAndReadAll(sql, bound, types);
      return reader.getRowObjects();
    } finally {
      clearTimeout(timer);
      connection.closeSync();
    }
  }
}

const optionsOf = ({ memoryMb, threads, scratch }: EngineLimits): Record<string, string> => ({
  threads: String(threads),
  max_memory: `${memoryMb}MB`,
  enable_external_file_cache: 'false',
  autoinstall_known_extensions: 'false',
  temp_directory: scratch ?? '',
});

function bind(values: Readonly<Record<string, SqlValue>>) {
  const entries = Object.entries(values);
  const lists = entries.filter(([, value]) => isTexts(value));
  return {
    bound: Object.fromEntries(
      entries.map(([name, value]) => [name, isTexts(value) ? listValue(value) : value]),
    ),
    // DuckDB cannot tell the type of an empty list.
    types: Object.fromEntries(lists.map(([name]) => [name, LIST(VARCHAR)])),
  };
}

const isTexts = (value: SqlValue): value is readonly string[] => Array.isArray(value);
