/**
 * Requests, errors, rows and credits of all callers together, per UTC day and route: what an operator's overview shows
 * without reading every account.
 *
 * Counted in this process and added to Redis every few seconds, so a request costs a few additions. Best effort: a
 * process that is killed takes its last seconds with it. Money is never read from here; the ledger is.
 */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { DAY_MS, dayOf, redisKeys } from '../../data/schema/redis-keys.ts';
import type { UsageCounts } from './metering.ts';

const FLUSH_EVERY_MS = 5_000;
const KEPT_MS = 400 * DAY_MS;
const COUNTS = ['requests', 'errors', 'rows', 'credits'] as const;

interface DayCounts {
  day: number;
  /** By `<route>`. */
  routes: Map<string, UsageCounts>;
}

/** One request, as it is counted. */
export interface Counted {
  failed: boolean;
  rows: number;
  credits: number;
}

/** A call without a key, whatever it comes to. */
export const FREE_CALL: Counted = { failed: false, rows: 0, credits: 0 };

/** Stands where the route stands for calls without a key. */
export const ANONYMOUS = 'anonymous';

export class Totals {
  readonly #redis: RedisClient;
  /** What is not in Redis yet, the latest last; more than one day only around midnight. */
  #pending: DayCounts[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(redis: RedisClient) {
    this.#redis = redis;
  }

  count(route: string, now_ms: number, { failed, rows, credits }: Counted): void {
    const counts = this.#of(dayOf(now_ms), route);
    counts.requests += 1;
    if (failed) counts.errors += 1;
    counts.rows += rows;
    counts.credits += credits;
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_EVERY_MS).unref();
  }

  #of(day: number, route: string): UsageCounts {
    let latest = this.#pending.at(-1);
    if (latest?.day !== day) {
      latest = { day, routes: new Map() };
      this.#pending.push(latest);
    }
    const { routes } = latest;
    let counts = routes.get(route);
    if (!counts) {
      counts = { requests: 0, errors: 0, rows: 0, credits: 0 };
      routes.set(route, counts);
    }
    return counts;
  }

  /** Adds what was counted to Redis. What cannot be added is dropped: adding it twice would be worse. */
  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const pending = this.#pending;
    this.#pending = [];
    const additions: Promise<unknown>[] = [];
    for (const { day, routes } of pending) {
      const key = redisKeys.globalUsage(day);
      for (const [route, counts] of routes) {
        for (const name of COUNTS) {
          if (counts[name] > 0) additions.push(this.#redis.hincrby(key, `${route}|${name}`, counts[name]));
        }
      }
      additions.push(this.#redis.pexpire(key, KEPT_MS));
    }
    await Promise.allSettled(additions);
  }
}
