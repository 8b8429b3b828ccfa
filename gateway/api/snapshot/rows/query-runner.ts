/**
 * DuckDB over published files: a small pool of connections, prepared statements, bound values, a timeout that
 * covers waiting and running. A query that times out is interrupted, and its connection is reused.
 */

import {
  type DuckDBConnection,
  type DuckDBDataChunk,
  DuckDBInstance,
  type DuckDBPreparedStatement,
  type DuckDBType,
  type DuckDBValue,
} from '@duckdb/node-api';
import { readSql } from '../../../../data/runtime/sql-files.ts';
import { QueueFull } from '../../core/errors.ts';

/** A query timed out; nothing is wrong with the request. */
export class QueryTimeout extends Error {
  override name = 'QueryTimeout';
}

const SESSION_SQL = readSql(import.meta.url, 'sql/session.sql');
const CONNECTIONS = 4;
/** At 1 to 2 ms per query, the last in the queue waits for half a second. */
const QUEUE_MAX = 512;
/** DuckDB parallelises over row groups, and a published file has few: more threads only cost memory. */
const THREADS = 2;
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
interface Waiter {
  resolve: (pooled: PooledConnection) => void;
  reject: (reason: Error) => void;
}

export class QueryRunner {
  readonly #instance: DuckDBInstance;
  readonly #timeoutMs: number;
  readonly #free: PooledConnection[];
  readonly #waiting: Waiter[] = [];
  readonly #pool: readonly PooledConnection[];
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
      threads: String(Math.max(1, Math.floor(THREADS / processCount))),
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
    const deadline = performance.now() + this.#timeoutMs;
    const pooled = this.#take() ?? (await this.#acquire());
    let interrupted = false;
    // DuckDB ignores an interrupt that arrives before the query has started, so it is repeated.
    const interrupt = (): void => {
      interrupted = true;
      pooled.connection.interrupt();
      timer = setTimeout(interrupt, INTERRUPT_INTERVAL_MS);
    };
    let timer = setTimeout(interrupt, Math.max(1, deadline - performance.now()));
    try {
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
      this.#release(pooled);
    }
  }

  /** Frees DuckDB, once the queries that run have ended. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const waiter of this.#waiting.splice(0)) waiter.reject(new Error('DuckDB was closed'));
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

  #release(pooled: PooledConnection): void {
    const waiter = this.#waiting.shift();
    if (waiter) waiter.resolve(pooled);
    else this.#free.push(pooled);
    if (this.#closed) this.#freeWhenIdle();
  }

  #take(): PooledConnection | undefined {
    return this.#closed ? undefined : this.#free.pop();
  }

  #acquire(): Promise<PooledConnection> {
    if (this.#closed) return Promise.reject(new Error('DuckDB was closed'));
    if (this.#waiting.length >= QUEUE_MAX)
      return Promise.reject(new QueueFull(`${QUEUE_MAX} queries are queued`));
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        resolve: (pooled) => {
          clearTimeout(timer);
          resolve(pooled);
        },
        reject: (reason) => {
          clearTimeout(timer);
          reject(reason);
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(new QueryTimeout(`no connection became free within ${this.#timeoutMs} ms`));
      }, this.#timeoutMs);
      this.#waiting.push(waiter);
    });
  }
}
