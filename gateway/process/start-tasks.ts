/**
 * Tasks of the start that need Redis, such as creating the first operator. The service starts without Redis, so a task
 * that fails is repeated in the background until it succeeds or the service stops.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { AccountError } from '../commerce/store/store.ts';

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

type Wait = (ms: number, signal: AbortSignal) => Promise<void>;
const waitUnlessStopped: Wait = (ms, signal) =>
  pause(ms, undefined, { signal, ref: false }).catch(() => undefined);

export class StartTasks {
  readonly #log: Logger;
  readonly #wait: Wait;
  readonly #stopping = new AbortController();
  readonly #repeating = new Set<Promise<void>>();

  constructor(log: Logger, wait = waitUnlessStopped) {
    this.#log = log;
    this.#wait = wait;
  }

  /** Tries a task, which must be idempotent. @returns its result; null if it failed and is repeated. Never rejects. */
  async run<T>(name: string, task: () => Promise<T>): Promise<T | null> {
    try {
      return await task();
    } catch (error) {
      const isRepeated = isTransient(error);
      const then = isRepeated ? ': it is repeated until it succeeds' : '';
      this.#log.warn({ err: error, task: name }, `start task failed${then}`);
      if (!isRepeated) return null;
      const repeating = this.#repeat(name, task).finally(() => this.#repeating.delete(repeating));
      this.#repeating.add(repeating);
      return null;
    }
  }

  /** Waits for attempts that are running. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#repeating);
  }

  async #repeat(name: string, task: () => Promise<unknown>): Promise<void> {
    const { signal } = this.#stopping;
    for (let wait_ms = FIRST_WAIT_MS; ; wait_ms = Math.min(2 * wait_ms, LONGEST_WAIT_MS)) {
      await this.#wait(wait_ms, signal);
      if (signal.aborted) return;
      try {
        await task();
        this.#log.info({ task: name }, 'start task done');
        return;
      } catch (error) {
        if (isTransient(error)) continue;
        this.#log.warn({ err: error, task: name }, 'start task failed');
        return;
      }
    }
  }
}

/** Anything but what an operator must correct. */
const isTransient = (error: unknown): boolean =>
  !(error instanceof AccountError) || error.code === 'unavailable';
