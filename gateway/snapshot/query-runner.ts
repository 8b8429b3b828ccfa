/**
 * DuckDB over the files of one snapshot: a few connections, prepared statements with bound values, a time limit.
 *
 * A query waits for a free connection and then runs; both together may last `timeoutMs`. A query over its time is
 * interrupted, and its connection serves the next one.
 */
import { readFileSync } from 'node:fs';
import {
  type DuckDBConnection,
  type DuckDBDataChunk,
  DuckDBInstance,
  type DuckDBPreparedStatement,
  type DuckDBType,
  type DuckDBValue,
} from '@duckdb/node-api';
import { QueueFull } from '../queue-full.ts';

/** A query did not end in time; nothing is wrong with the request. */
export class QueryTimeout extends Error {
  override name = 'QueryTimeout';
}

const SESSION_SQL = readFileSync(new URL('sql/session.sql', import.meta.url), 'utf8');
const CONNECTIONS = 4;
/** At a millisecond or two each, the last of them waits for half a second. */
const WAITING_MOST = 512;
/** DuckDB works in row groups of a file, and a published file has few: more threads only cost memory. */
const THREADS = 2;
const MEMORY_MB = 64;
/** Whatever it shares with others, one process needs this for a whole slice. */
const MEMORY_LEAST_MB = 32;
const INSTANCE_OPTIONS = {
  enable_external_file_cache: 'false',
  autoinstall_known_extensions: 'false',
};

const INTERRUPT_EVERY_MS = 20;

interface Lane {
  connection: DuckDBConnection;
  statements: Map<string, DuckDBPreparedStatement>;
}
interface Waiter {
  take: (lane: Lane) => void;
  fail: (reason: Error) => void;
}

export class QueryRunner {
  readonly #instance: DuckDBInstance;
  readonly #timeoutMs: number;
  readonly #free: Lane[];
  readonly #waiting: Waiter[] = [];
  readonly #lanes: readonly Lane[];
  #closed = false;

  private constructor(instance: DuckDBInstance, lanes: Lane[], timeoutMs: number) {
    this.#instance = instance;
    this.#lanes = lanes;
    this.#free = [...lanes];
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
      max_memory: `${Math.max(MEMORY_LEAST_MB, Math.floor(MEMORY_MB / processCount))}MB`,
    });
    const lanes: Lane[] = [];
    for (let lane = 0; lane < CONNECTIONS; lane += 1) {
      const connection = await instance.connect();
      lanes.push({ connection, statements: new Map() });
    }
    await lanes[0]?.connection.run(SESSION_SQL);
    return new QueryRunner(instance, lanes, timeoutMs);
  }

  /** Runs one statement with named values bound. @throws {QueryTimeout} @throws {QueueFull} */
  async run(
    sql: string,
    values: Record<string, DuckDBValue>,
    types: Record<string, DuckDBType> = {},
  ): Promise<DuckDBDataChunk[]> {
    const deadline = performance.now() + this.#timeoutMs;
    const lane = this.#free.pop() ?? (await this.#nextFree());
    let interrupted = false;
    // An interrupt that comes before the engine has begun is forgotten: it is repeated until the query has ended.
    const interrupt = (): void => {
      interrupted = true;
      lane.connection.interrupt();
      timer = setTimeout(interrupt, INTERRUPT_EVERY_MS);
    };
    let timer = setTimeout(interrupt, Math.max(1, deadline - performance.now()));
    try {
      const statement = await this.#statement(lane, sql);
      statement.bind(values, types);
      const result = await statement.run();
      // It lies in memory whole: chunks are taken at once instead of each on another thread.
      return Array.from({ length: result.chunkCount }, (_, index) => result.getChunk(index));
    } catch (error) {
      if (interrupted) throw new QueryTimeout(`a query took longer than ${this.#timeoutMs} ms`);
      throw error;
    } finally {
      clearTimeout(timer);
      this.#give(lane);
    }
  }

  /** Frees DuckDB. Call when no query runs. */
  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiting.splice(0)) waiter.fail(new Error('the snapshot was closed'));
    for (const { connection, statements } of this.#lanes) {
      for (const statement of statements.values()) statement.destroySync();
      connection.closeSync();
    }
    this.#instance.closeSync();
  }

  async #statement(lane: Lane, sql: string): Promise<DuckDBPreparedStatement> {
    const known = lane.statements.get(sql);
    if (known) return known;
    const statement = await lane.connection.prepare(sql);
    lane.statements.set(sql, statement);
    return statement;
  }

  #give(lane: Lane): void {
    const waiter = this.#waiting.shift();
    if (waiter) waiter.take(lane);
    else this.#free.push(lane);
  }

  #nextFree(): Promise<Lane> {
    if (this.#closed) return Promise.reject(new Error('the snapshot was closed'));
    if (this.#waiting.length >= WAITING_MOST)
      return Promise.reject(new QueueFull(`${WAITING_MOST} queries wait already`));
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        take: (lane) => {
          clearTimeout(timer);
          resolve(lane);
        },
        fail: (reason) => {
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
