/**
 * The version of what Redis holds, marked by the first program that uses it. A program that reads another version starts
 * with a refusal, and a gateway that finds one later is not ready: what it would write might not be understood.
 */
import { redisKeys } from '../schema/redis-keys.ts';
import type { RedisClient } from './redis.ts';
import { SettingsError } from './settings.ts';

/** Increment when other versions of the software cannot read, or must not write, what this one keeps in Redis. */
export const STORE_VERSION = 1;

/** Why this program must not use what Redis holds; null when it may. A store without a version gets this one. */
export async function storeFault(redis: RedisClient): Promise<string | null> {
  await redis.setnx(redisKeys.storeVersion, STORE_VERSION);
  const found = await redis.get(redisKeys.storeVersion);
  return found === String(STORE_VERSION)
    ? null
    : `Redis holds a store of version ${found}; this program reads version ${STORE_VERSION}.`;
}

/** At the start of a program. A Redis that does not answer passes. @throws {SettingsError} for another version */
export async function claimStore(redis: RedisClient): Promise<void> {
  const fault = await storeFault(redis).catch(() => null);
  if (fault !== null) throw new SettingsError(`REDIS_URL: ${fault} See "Upgrade" in docs/operating.md.`);
}
