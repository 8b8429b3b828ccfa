/** Folds the usage hashes of an account's days into the report of `GET /v1/usage`. */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { dateOfDay, dayOf, redisKeys } from '../../data/schema/redis-keys.ts';
import type { UsageCounts, UsageReport } from './metering.ts';

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
