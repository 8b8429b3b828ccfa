/** The steps of a build: how long each took, progress, and the end when the build is cancelled. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { BuildObserver } from '../runtime/progress.ts';

export interface StepDependencies {
  log: Logger;
  observer?: BuildObserver;
  signal?: AbortSignal;
}

export class BuildSteps {
  /** Milliseconds by step. */
  readonly times_ms: Record<string, number> = {};
  readonly #deps: StepDependencies;

  constructor(deps: StepDependencies) {
    this.#deps = deps;
  }

  /** @throws the reason of the signal once it is aborted. */
  async run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    this.#deps.signal?.throwIfAborted();
    const startedAt = performance.now();
    this.#deps.log.debug({ step: name }, 'build step');
    // Some steps block the thread: yield first, so that log lines leave and a signal arrives.
    await nextTurn();
    try {
      return await work();
    } finally {
      this.times_ms[name] = Math.round((this.times_ms[name] ?? 0) + performance.now() - startedAt);
    }
  }

  /** A function that reports how much of a step is done. */
  counter(step: string, total: number, unit: string): (done: number) => void {
    return (done) => this.progress(step, done, total, unit);
  }

  /** Reports progress. @throws the reason of the signal once it is aborted. */
  progress(step: string, done: number, total: number, unit: string): void {
    this.#deps.signal?.throwIfAborted();
    this.#deps.observer?.onProgress?.({ task: 'build', step, done, total, unit });
  }
}
