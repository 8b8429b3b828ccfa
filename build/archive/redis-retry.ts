/**
 * Asking Redis as a batch may: again after a while when no answer came. Everything the archive asks can be asked twice:
 * it reads, or it runs a script that does what it does once.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type RedisClient, whenReady } from '../../data/runtime/redis.ts';

const TRIES = 6;
const BACK_WITHIN_MS = 10_000;
const PAUSE_MS = 250;

/** @throws what Redis refused, at once; what came of the last try, when none was answered. */
export async function askAgain<Answer>(redis: RedisClient, ask: () => Promise<Answer>): Promise<Answer> {
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
  return askAgain(redis, async () => {
    try {
      return await redis.evalsha(sha, keys.length, ...keys, ...values);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return redis.eval(text, keys.length, ...keys, ...values);
    }
  });
}
