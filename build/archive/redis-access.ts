/** What an archive run reads from Redis, and the script that trims it. */
import { readFileSync } from 'node:fs';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { dayOf, redisKeys } from '../../data/schema/redis-keys.ts';
import { withRetry } from '../runtime/redis-connection.ts';
import type { StreamEntry } from './entry-rows.ts';

const TRIM_STREAM = readFileSync(new URL('lua/trim-stream.lua', import.meta.url), 'utf8');

/** Trims archived entries from a stream; see the script's header. `repeated`: an earlier call has done it. */
export async function trimStream(
  redis: RedisClient,
  keys: readonly string[],
  values: readonly string[],
): Promise<{ outcome: 'trimmed' | 'repeated' | 'refused'; why: string }> {
  const reply = await withRetry(redis, () => redis.eval(TRIM_STREAM, keys.length, ...keys, ...values));
  const [outcome, why = ''] = reply as ['trimmed' | 'repeated' | 'refused', string?];
  return { outcome, why };
}

/** A paid call waits while Redis answers a read. */
export const ENTRIES_PER_READ = 250;

/** A stream from its beginning. @param head the first entries, where they have been read */
export async function* readStream(
  redis: RedisClient,
  key: string,
  head?: readonly StreamEntry[],
): AsyncGenerator<StreamEntry> {
  const read = (from: string) =>
    withRetry(redis, () => redis.xrange(key, from, '+', 'COUNT', ENTRIES_PER_READ));
  for (let batch = head ?? (await read('-')); ; ) {
    yield* batch;
    const last = batch.at(-1);
    if (!last || batch.length < ENTRIES_PER_READ) return;
    batch = await read(`(${last[0]}`);
  }
}

/** All account ids, in pages, by creation. Accounts created meanwhile come last. */
export async function* accountPages(redis: RedisClient, size: number): AsyncGenerator<string[]> {
  for (let from = 0; ; from += size) {
    const range = [String(from), String(from + size - 1)] as const;
    const ids = await withRetry(redis, () => redis.zrange(redisKeys.accounts, ...range));
    if (ids.length === 0) return;
    yield ids;
  }
}

/** The UTC day on which the first account was created; null when there is none. */
export async function firstDay(redis: RedisClient): Promise<number | null> {
  const [, created_ms] = await withRetry(redis, () =>
    redis.zrange(redisKeys.accounts, '0', '0', 'WITHSCORES'),
  );
  return created_ms === undefined ? null : dayOf(Number(created_ms));
}
