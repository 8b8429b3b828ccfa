/** Usage by UTC day and route: the totals of all callers, and the report of one account. */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { DAY_MS, dateOfDay, dayOf, redisKeys } from '../../data/schema/redis-keys.ts';
import type { UsageCounts, UsageReport } from './metering.ts';

const FLUSH_EVERY_MS = 5_000;
const KEPT_MS = 400 * DAY_MS;

/** The counts of one request. */
export interface RequestCounts {
  failed: boolean;
  rows: number;
  credits: number;
}

/** An anonymous request, whatever its result. */
export const FREE_CALL: RequestCounts = { failed: false, rows: 0, credits: 0 };

/** Stands in place of the route for anonymous requests. */
export const ANONYMOUS = 'anonymous';

/**
 * Counts the requests, errors, rows and credits of all callers per UTC day and route, for the operator's overview.
 *
 * Counts in memory and adds to Redis every few seconds. Best effort: a process that is killed loses its last seconds.
 * Money is never read from here; the ledger is the truth.
 */
export class UsageTotals {
  readonly #redis: RedisClient;
  /** Not yet in Redis: by UTC day, then by route. */
  #pending = new Map<number, Map<string, UsageCounts>>();
  #timer: NodeJS.Timeout | null = null;

  constructor(redis: RedisClient) {
    this.#redis = redis;
  }

  count(route: string, now_ms: number, { failed, rows, credits }: RequestCounts): void {
    const counts = this.#countsOf(dayOf(now_ms), route);
    counts.requests += 1;
    if (failed) counts.errors += 1;
    counts.rows += rows;
    counts.credits += credits;
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_EVERY_MS).unref();
  }

  #countsOf(day: number, route: string): UsageCounts {
    let routes = this.#pending.get(day);
    if (routes === undefined) {
      routes = new Map();
      this.#pending.set(day, routes);
    }
    let counts = routes.get(route);
    if (counts === undefined) {
      counts = zero();
      routes.set(route, counts);
    }
    return counts;
  }

  /** Adds the counts to Redis. Drops them on failure, because adding them twice would be worse. */
  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const pending = this.#pending;
    this.#pending = new Map();
    const additions: Promise<unknown>[] = [];
    for (const [day, routes] of pending) {
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

const COUNTS = ['requests', 'errors', 'rows', 'credits'] as const;

const zero = (): UsageCounts => ({ requests: 0, errors: 0, rows: 0, credits: 0 });

/** Adds one day's hash (`<route>|<count>` → number) to the day and to its routes. */
function addDay(hash: Record<string, string>, day: UsageCounts, routes: Map<string, UsageCounts>): void {
  for (const [field, text] of Object.entries(hash)) {
    const bar = field.lastIndexOf('|');
    const count = COUNTS.find((name) => name === field.slice(bar + 1));
    if (!count) continue;
    const route = field.slice(0, bar);
    const counts = routes.get(route) ?? zero();
    routes.set(route, counts);
    counts[count] += Number(text);
    day[count] += Number(text);
  }
}

function sum(days: UsageCounts[]): UsageCounts {
  const total = zero();
  for (const day of days) for (const count of COUNTS) total[count] += day[count];
  return total;
}

/** Builds the report from one hash per UTC day, oldest first; a day without calls is an empty hash. */
export function foldUsage(
  days: { date: string; counters: Record<string, string> }[],
): Omit<UsageReport, 'credits'> {
  const routes = new Map<string, UsageCounts>();
  const daily = days.map(({ date, counters }) => {
    const day = { date, ...zero() };
    addDay(counters, day, routes);
    return day;
  });
  const endpoints = [...routes].map(([route, counts]) => ({ route, ...counts }));
  endpoints.sort((a, b) => b.requests - a.requests || (a.route < b.route ? -1 : 1));
  return { totals: sum(daily), daily, endpoints };
}

/** Wallet and usage of the last `days` UTC days, today included. Rejects with the error of Redis. */
export async function readUsage(
  redis: RedisClient,
  accountId: string,
  days: number,
  now_ms: number,
): Promise<UsageReport> {
  const today = dayOf(now_ms);
  const numbers = Array.from({ length: days }, (_, index) => today - days + 1 + index);
  const [wallet, ...hashes] = await Promise.all([
    redis.hmget(redisKeys.account(accountId), 'balance', 'granted', 'spent'),
    ...numbers.map((day) => redis.hgetall(redisKeys.usage(accountId, day))),
  ]);
  const [balance, lifetime_granted, lifetime_spent] = wallet.map(Number);
  return {
    credits: {
      balance: balance ?? 0,
      lifetime_granted: lifetime_granted ?? 0,
      lifetime_spent: lifetime_spent ?? 0,
    },
    ...foldUsage(numbers.map((day, index) => ({ date: dateOfDay(day), counters: hashes[index] ?? {} }))),
  };
}
