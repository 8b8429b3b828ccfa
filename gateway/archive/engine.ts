/**
 * DuckDB over the files of the archive, with bounded memory and threads: opened at the first question, a few questions
 * at a time, each with a time limit. Who asks less often than once in a while closes it in between.
 */
import { readFileSync } from 'node:fs';
import {
  DuckDBInstance,
  type DuckDBType,
  type DuckDBValue,
  LIST,
  listValue,
  VARCHAR,
} from '@duckdb/node-api';

export interface EngineLimits {
  memoryMb: number;
  threads: number;
  /** Longest time of one question, without the wait for its turn. */
  timeoutMs: number;
  /** Where it may spill to; without it a question that needs more memory fails. */
  scratch?: string;
}

export type SqlValue = DuckDBValue | readonly string[];
export type SqlRow = Readonly<Record<string, DuckDBValue>>;

/** The text of a statement that lies beside the module that names it. */
export const readSql = (module: string, file: string): string => readFileSync(new URL(file, module), 'utf8');

const AT_ONCE = 2;

export class ArchiveEngine {
  readonly #limits: EngineLimits;
  #instance: Promise<DuckDBInstance> | null = null;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(limits: EngineLimits) {
    this.#limits = limits;
  }

  /**
   * Rows of one statement with named values bound; lists of text are bound as such. 64-bit integers come as `bigint`.
   * Rejects with what DuckDB says, also when the time was up.
   */
  async rows(sql: string, values: Readonly<Record<string, SqlValue>> = {}): Promise<SqlRow[]> {
    await this.#turn();
    try {
      return await this.#ask(sql, values);
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** Gives its memory back. Call when nothing is asked; the next question opens it again. */
  async close(): Promise<void> {
    const instance = this.#instance;
    this.#instance = null;
    (await instance?.catch(() => null))?.closeSync();
  }

  async #turn(): Promise<void> {
    while (this.#running >= AT_ONCE) await new Promise<void>((settle) => this.#waiting.push(settle));
    this.#running += 1;
  }

  async #ask(sql: string, values: Readonly<Record<string, SqlValue>>): Promise<SqlRow[]> {
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

function bind(values: Readonly<Record<string, SqlValue>>): {
  bound: Record<string, DuckDBValue>;
  types: Record<string, DuckDBType>;
} {
  const bound: Record<string, DuckDBValue> = {};
  const types: Record<string, DuckDBType> = {};
  for (const [name, value] of Object.entries(values)) {
    if (isTexts(value)) {
      bound[name] = listValue(value);
      types[name] = LIST(VARCHAR);
    } else bound[name] = value;
  }
  return { bound, types };
}

const isTexts = (value: SqlValue): value is readonly string[] => Array.isArray(value);
