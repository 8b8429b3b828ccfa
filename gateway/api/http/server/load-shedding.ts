/**
 * Load shedding: refuses requests at once and for free instead of queueing more than can be answered in time.
 *
 * - A burst is answered: up to `burst` requests may be in flight. Sustained overload is not: after more than
 *   `sustained` in flight for `patience_ms`, only `admitted` are let through at a time, until none had to be refused
 *   for as long.
 * - While the event loop is late by more than `late_ms`, `admitted` shrinks; otherwise it recovers.
 * - Keyed requests are refused first. Anonymous ones are refused only at twice a burst, or when the event loop lags by
 *   more than `lag_ms` repeatedly. Prerendered answers and health checks are never refused: a refusal costs as much.
 */
import type { Logger } from 'pino';

export interface LoadLimits {
  sustained: number;
  admitted: number;
  burst: number;
  patience_ms: number;
  late_ms: number;
  lag_ms: number;
}

/** While Redis rewrites its append-only file, a queue of two thousand builds up and drains within a second. */
export const LOAD_LIMITS: LoadLimits = {
  sustained: 2_048,
  admitted: 256,
  burst: 10_000,
  patience_ms: 1_000,
  late_ms: 50,
  lag_ms: 1_000,
};

const LAG_SAMPLE_MS = 100;
/** Factors by which the admitted number changes from one lag sample to the next, and its minimum. */
const SHRINK = 0.7;
const GROW = 1.25;
const ADMITTED_MIN = 8;

export class LoadShedder {
  readonly #limits: LoadLimits;
  readonly #now: () => number;
  readonly #log: Logger;
  #inFlight = 0;
  /** Since when more than `sustained` are in flight; null when fewer are. */
  #overSince_ms: number | null = null;
  #isShedding = false;
  #admitted = 0;
  #lastRefusal_ms = 0;
  #lag_ms = 0;
  #previousLag_ms = 0;
  #timer: NodeJS.Timeout | null = null;

  /** @param now monotonic milliseconds. */
  constructor(limits: LoadLimits, log: Logger, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#log = log;
    this.#now = now;
  }

  /** Requests that wait for Redis, Parquet or a queue. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** A request starts to wait; `leave` must follow. */
  enter(): void {
    this.#inFlight += 1;
    if (this.#inFlight > this.#limits.sustained) this.#overSince_ms ??= this.#now();
  }

  leave(): void {
    this.#inFlight -= 1;
    if (this.#inFlight <= this.#limits.sustained && !this.#isShedding) this.#overSince_ms = null;
  }

  shouldRefuseKeyed(): boolean {
    if (this.#overSince_ms === null) return false;
    const { burst, patience_ms } = this.#limits;
    const now_ms = this.#now();
    if (!this.#isShedding && now_ms - this.#overSince_ms > patience_ms) this.#start(now_ms);
    if (this.#inFlight >= (this.#isShedding ? this.#admitted : burst)) {
      this.#lastRefusal_ms = now_ms;
      return true;
    }
    if (this.#isShedding && now_ms - this.#lastRefusal_ms > patience_ms) this.#stop();
    return false;
  }

  #start(now_ms: number): void {
    this.#isShedding = true;
    this.#admitted = this.#limits.admitted;
    this.#lastRefusal_ms = now_ms;
    this.#log.warn({ in_flight: this.#inFlight }, 'sustained overload: shedding keyed requests');
  }

  #stop(): void {
    this.#isShedding = false;
    this.#overSince_ms = null;
    this.#log.info('overload is over: keyed requests are admitted again');
  }

  shouldRefuseAnonymous(): boolean {
    return this.#lag_ms > this.#limits.lag_ms || this.#inFlight >= 2 * this.#limits.burst;
  }

  /** Takes a sample of event loop lag. A single pause is over when it is seen, so only two in a row count. */
  recordLag(lag_ms: number): void {
    this.#lag_ms = Math.min(lag_ms, this.#previousLag_ms);
    this.#previousLag_ms = lag_ms;
    const { admitted, late_ms } = this.#limits;
    if (lag_ms > late_ms) this.#admitted = Math.max(ADMITTED_MIN, SHRINK * this.#admitted);
    else this.#admitted = Math.min(admitted, GROW * this.#admitted);
  }

  /** Starts to sample the event loop. @returns stops it. */
  watch(): () => void {
    let due_ms = this.#now() + LAG_SAMPLE_MS;
    this.#timer = setInterval(() => {
      const now_ms = this.#now();
      this.recordLag(now_ms - due_ms);
      due_ms = now_ms + LAG_SAMPLE_MS;
    }, LAG_SAMPLE_MS).unref();
    return () => clearInterval(this.#timer ?? undefined);
  }
}
