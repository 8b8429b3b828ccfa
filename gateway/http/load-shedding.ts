/**
 * When to turn requests away: at once and for free, before more is taken on than can be answered in good time.
 *
 * - A burst is answered: requests may pile up to `burst`. A line that does not get shorter is not: once more than
 *   `standing` have been under way for `patience_ms` without a pause, no more than `let_in` are at a time, until nobody had
 *   to be refused for as long. Whoever is let in then waits for a fraction of a second, whatever else is sent.
 * - To refuse takes time, too, and requests that nobody has read yet wait for it. While the event loop is late by more than
 *   `late_ms`, fewer and fewer are let in; as soon as it is not, more.
 * - Keyed requests are refused first. What needs no key is refused only when twice a burst is under way, or when the
 *   event loop itself lags by more than `lag_ms` again and again; prerendered answers and health not at all, since a
 *   refusal costs what they cost.
 *
 * Counting costs nothing on the way of a request, which is why this is no hook of the framework: `@fastify/under-pressure`
 * would run for every request, the prerendered ones too, and knows the process only by samples a second old.
 */
import type { Logger } from 'pino';

export interface LoadLimits {
  standing: number;
  let_in: number;
  burst: number;
  patience_ms: number;
  late_ms: number;
  lag_ms: number;
}

/**
 * Redis writes its append-only file anew now and then: for some seconds it is slow and has a part of a core less. A line of
 * two thousand is then a fifth of a second's work, and passes.
 */
export const LOAD_LIMITS: LoadLimits = {
  standing: 2_048,
  let_in: 256,
  burst: 10_000,
  patience_ms: 1_000,
  late_ms: 50,
  lag_ms: 1_000,
};

const LAG_SAMPLE_MS = 100;
/** How fewer, and then more, are let in, from one look at the event loop to the next, and what is always let in. */
const FEWER = 0.7;
const MORE = 1.25;
const LET_IN_LEAST = 8;

export class LoadShedder {
  readonly #limits: LoadLimits;
  readonly #now: () => number;
  readonly #log: Logger;
  #underWay = 0;
  /** Since when more than `standing` are under way; null when they are fewer. */
  #longSince_ms: number | null = null;
  #isStanding = false;
  #letIn = 0;
  #refused_ms = 0;
  #lag_ms = 0;
  #lastLag_ms = 0;
  #timer: NodeJS.Timeout | null = null;

  /** @param now monotonic milliseconds. */
  constructor(limits: LoadLimits, log: Logger, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#log = log;
    this.#now = now;
  }

  /** How many requests wait for Redis, Parquet or their turn. */
  get underWay(): number {
    return this.#underWay;
  }

  /** A request begins to wait; `leave` must follow. */
  enter(): void {
    this.#underWay += 1;
    if (this.#underWay > this.#limits.standing) this.#longSince_ms ??= this.#now();
  }

  leave(): void {
    this.#underWay -= 1;
    if (this.#underWay <= this.#limits.standing && !this.#isStanding) this.#longSince_ms = null;
  }

  shouldRefuseKeyed(): boolean {
    if (this.#longSince_ms === null) return false;
    const { burst, patience_ms } = this.#limits;
    const now_ms = this.#now();
    if (!this.#isStanding && now_ms - this.#longSince_ms > patience_ms) this.#begin(now_ms);
    if (this.#underWay >= (this.#isStanding ? this.#letIn : burst)) {
      this.#refused_ms = now_ms;
      return true;
    }
    if (this.#isStanding && now_ms - this.#refused_ms > patience_ms) this.#end();
    return false;
  }

  #begin(now_ms: number): void {
    this.#isStanding = true;
    this.#letIn = this.#limits.let_in;
    this.#refused_ms = now_ms;
    this.#log.warn({ under_way: this.#underWay }, 'more requests with a key than can be answered');
  }

  #end(): void {
    this.#isStanding = false;
    this.#longSince_ms = null;
    this.#log.info('requests with a key are taken again');
  }

  shouldRefuseAnonymous(): boolean {
    return this.#lag_ms > this.#limits.lag_ms || this.#underWay >= 2 * this.#limits.burst;
  }

  /** One look at how late the event loop is. A single pause is over when it is seen: only two in a row count. */
  lagged(lag_ms: number): void {
    this.#lag_ms = Math.min(lag_ms, this.#lastLag_ms);
    this.#lastLag_ms = lag_ms;
    const { let_in, late_ms } = this.#limits;
    if (lag_ms > late_ms) this.#letIn = Math.max(LET_IN_LEAST, FEWER * this.#letIn);
    else this.#letIn = Math.min(let_in, MORE * this.#letIn);
  }

  /** Begins to watch the event loop; returns what ends it. */
  watch(): () => void {
    let due_ms = this.#now() + LAG_SAMPLE_MS;
    this.#timer = setInterval(() => {
      const now_ms = this.#now();
      this.lagged(now_ms - due_ms);
      due_ms = now_ms + LAG_SAMPLE_MS;
    }, LAG_SAMPLE_MS).unref();
    return () => clearInterval(this.#timer ?? undefined);
  }
}
