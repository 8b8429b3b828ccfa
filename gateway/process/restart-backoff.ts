/** How long to wait before a program that ended by itself is started again: longer each time, while that keeps happening. */

export interface RestartPauseOptions {
  first_ms: number;
  longest_ms: number;
  /** One that lived so long has shown that it can: the next pause is the first one again. */
  steady_ms: number;
}

export class RestartBackoff {
  readonly #options: RestartPauseOptions;
  #next_ms: number;

  constructor(options: RestartPauseOptions) {
    this.#options = options;
    this.#next_ms = options.first_ms;
  }

  /** Milliseconds to wait now. @param lived_ms how long the one that ended had been running. */
  after(lived_ms: number): number {
    const { first_ms, longest_ms, steady_ms } = this.#options;
    const pause_ms = lived_ms > steady_ms ? first_ms : this.#next_ms;
    this.#next_ms = Math.min(2 * pause_ms, longest_ms);
    return pause_ms;
  }
}
