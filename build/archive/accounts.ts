/** All accounts, a page at a time, by creation: those made meanwhile come last. */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { dayOf, redisKeys } from '../../data/schema/redis-keys.ts';
import { askAgain } from './redis-retry.ts';

export async function* accountPages(redis: RedisClient, size: number): AsyncGenerator<string[]> {
  for (let from = 0; ; from += size) {
    const range = [String(from), String(from + size - 1)] as const;
    const ids = await askAgain(redis, () => redis.zrange(redisKeys.accounts, ...range));
    if (ids.length === 0) return;
    yield ids;
  }
}

/** The UTC day on which the first account was made; null while there is none. */
export async function firstDay(redis: RedisClient): Promise<number | null> {
  const [, created_ms] = await askAgain(redis, () =>
    redis.zrange(redisKeys.accounts, '0', '0', 'WITHSCORES'),
  );
  return created_ms === undefined ? null : dayOf(Number(created_ms));
}
