/** The keys of a backup, put into an empty Redis, a server or a cluster, whichever it came from. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { CommandError } from '../runtime/command-error.ts';
import { type KeyLine, mastersOf } from './dump-redis.ts';

const KEYS_AT_ONCE = 200;
const CHARACTERS_AT_ONCE = 8_000_000;

export const countKeys = async (redis: RedisClient): Promise<number> =>
  (await Promise.all(mastersOf(redis).map((node) => node.dbsize()))).reduce((sum, keys) => sum + keys, 0);

const SERVING = / name=almanac-(?:metering|admin|jobs) /;

/** @throws {CommandError} when a gateway, the operator area or a worker is connected: it would go on with what it knew. */
export async function expectNobodyServes(redis: RedisClient): Promise<void> {
  const clients = await Promise.all(mastersOf(redis).map((node) => node.client('LIST')));
  if (clients.some((list) => SERVING.test(String(list))))
    throw new CommandError('the service is running on this Redis: stop gateways and workers first');
}

export async function emptyRedis(redis: RedisClient): Promise<void> {
  await Promise.all(mastersOf(redis).map((node) => node.flushdb()));
}

async function putBack(redis: RedisClient, [name, left_ms, value]: KeyLine): Promise<void> {
  const key = Buffer.from(name, 'base64');
  // 0 stays for ever. What had less than a millisecond left goes at once.
  const life_ms = left_ms < 0 ? 0 : Math.max(1, left_ms);
  await redis.restore(key, life_ms, Buffer.from(value, 'base64')).catch((error: Error) => {
    throw new Error(`Redis did not take ${key}: ${error.message}`, { cause: error });
  });
}

/** @throws {Error} naming the first key that Redis did not take; those before it stay. */
export async function restoreRedis(redis: RedisClient, file: string): Promise<void> {
  let batch: KeyLine[] = [];
  let characters = 0;
  const flush = async (): Promise<void> => {
    await Promise.all(batch.map((line) => putBack(redis, line)));
    batch = [];
    characters = 0;
  };
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    batch.push(JSON.parse(text) as KeyLine);
    characters += text.length;
    if (batch.length >= KEYS_AT_ONCE || characters >= CHARACTERS_AT_ONCE) await flush();
  }
  await flush();
}
