/** What all callers did together, by day and by route; see `gateway/metering/totals.ts`. */
import type { RedisClient } from '../data/runtime/redis.ts';
import { DAY_MS, dateOfDay, dayOf, redisKeys } from '../data/schema/redis-keys.ts';
import type { UsageReport } from '../gateway/metering/metering.ts';
import { foldUsage } from '../gateway/metering/usage.ts';
import type { Point } from '../gateway/pages/shared/chart.ts';

const lastDays = (now_ms: number, days: number): number[] =>
  Array.from({ length: days }, (_, index) => dayOf(now_ms) - days + 1 + index);

/** The last `days` UTC days, today included, oldest first. */
export async function totalUsage(
  redis: RedisClient,
  now_ms: number,
  days: number,
): Promise<Omit<UsageReport, 'credits'>> {
  const numbers = lastDays(now_ms, days);
  const hashes = await Promise.all(numbers.map((day) => redis.hgetall(redisKeys.globalUsage(day))));
  return foldUsage(numbers.map((day, index) => ({ date: dateOfDay(day), counters: hashes[index] ?? {} })));
}

/** How many of a list that is ordered by time (accounts, orders) were made on each day. */
export async function madePerDay(
  redis: RedisClient,
  key: string,
  now_ms: number,
  days: number,
): Promise<Point[]> {
  const numbers = lastDays(now_ms, days);
  const counts = await Promise.all(
    numbers.map((day) => redis.zcount(key, day * DAY_MS, `(${(day + 1) * DAY_MS}`)),
  );
  return numbers.map((day, index) => ({ label: dateOfDay(day), value: counts[index] ?? 0 }));
}
