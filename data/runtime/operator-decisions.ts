/** Reads what operators decided about providers and licences. */
import type { StoredDecisions } from '../schema/operator-decisions.ts';
import { redisKeys } from '../schema/redis-keys.ts';
import type { RedisClient } from './redis.ts';

/** @throws {Error} when Redis does not answer. */
export async function readStoredDecisions(redis: RedisClient): Promise<StoredDecisions> {
  const [providers, licences] = await Promise.all([
    redis.hgetall(redisKeys.providerDecisions),
    redis.hgetall(redisKeys.licenceDecisions),
  ]);
  return { providers, licences };
}
