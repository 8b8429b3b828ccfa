/** Usage counters: the totals of all accounts, and the report of one account. */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { DAY_MS, dateOfDay, dayOf, redisKeys } from '../../data/schema/redis-keys.ts';
import type { UsageCounts, UsageReport } from './metering.ts';

const FLUSH_EVERY_MS = 5_000;
const KEPT_MS = 400 * DAY_MS;

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

export class UsageTotals {
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

const COUNTS = ['requests', 'errors', 'rows', 'credits'] as const;

const zero = (): UsageCounts => ({ requests: 0, errors: 0, rows: 0, credits: 0 });

/** Adds the counters of one day's hash (`<route>|<count>` → number) to its day, its routes and the totals. */
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

/** One round trip: the wallet and the last `days` UTC days, today included. Rejects with what Redis says. */
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
