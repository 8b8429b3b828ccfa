/** Never more than a few requests under way to one host, and a pause between the starts of two. */
import type { RetryOptions } from './retry.ts';

export interface PolitenessOptions {
  concurrency: number;
  /** Least time between two starts. */
  intervalMs: number;
}

export class HostGate {
  readonly #options: PolitenessOptions;
  readonly #clock: Pick<RetryOptions, 'now' | 'sleep'>;
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #nextStart = 0;

  constructor(options: PolitenessOptions, clock: Pick<RetryOptions, 'now' | 'sleep'>) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Runs the work when its turn has come. */
  async run<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#options.concurrency) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running += 1;
    }
    try {
      await this.#pause(signal);
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const now = this.#clock.now();
    const start = Math.max(now, this.#nextStart);
    this.#nextStart = start + this.#options.intervalMs;
    if (start > now) await this.#clock.sleep(start - now, signal);
  }
}
