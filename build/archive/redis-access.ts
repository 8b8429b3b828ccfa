/**
 * Asking Redis as a batch may: again after a while when no answer came. Everything the archive asks can be asked twice:
 * it reads, or it runs a script that does what it does once.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type RedisClient, whenReady } from '../../data/runtime/redis.ts';
import { dayOf, redisKeys } from '../../data/schema/redis-keys.ts';

const TRIES = 6;
const BACK_WITHIN_MS = 10_000;
const PAUSE_MS = 250;

/** @throws what Redis refused, at once; what came of the last try, when none was answered. */
export async function withRetry<Answer>(redis: RedisClient, ask: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      const isRefused = error instanceof Error && error.name === 'ReplyError';
      if (isRefused || attempt === TRIES) throw error;
    }
    await pause(PAUSE_MS * attempt);
    await whenReady(redis, BACK_WITHIN_MS);
  }
}

export interface RepeatableScript {
  text: string;
  sha: string;
}

/** Reads `lua/<name>.lua` of this folder. */
export function readScript(name: string): RepeatableScript {
  const text = readFileSync(new URL(`lua/${name}.lua`, import.meta.url), 'utf8');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** Runs a script that does the same once, however often it arrives. */
export function runScript(
  redis: RedisClient,
  { text, sha }: RepeatableScript,
  keys: readonly string[],
  values: readonly (string | number)[],
): Promise<unknown> {
  return withRetry(redis, async () => {
    try {
      return await redis.evalsha(sha, keys.length, ...keys, ...values);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return redis.eval(text, keys.length, ...keys, ...values);
    }
  });
}

/** All accounts, a page at a time, by creation: those made meanwhile come last. */
export async function* accountPages(redis: RedisClient, size: number): AsyncGenerator<string[]> {
  for (let from = 0; ; from += size) {
    const range = [String(from), String(from + size - 1)] as const;
    const ids = await withRetry(redis, () => redis.zrange(redisKeys.accounts, ...range));
    if (ids.length === 0) return;
    yield ids;
  }
}

/** The UTC day on which the first account was made; null while there is none. */
export async function firstDay(redis: RedisClient): Promise<number | null> {
  const [, created_ms] = await withRetry(redis, () =>
    redis.zrange(redisKeys.accounts, '0', '0', 'WITHSCORES'),
  );
  return created_ms === undefined ? null : dayOf(Number(created_ms));
}
