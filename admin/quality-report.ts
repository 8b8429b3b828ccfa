/** The quality report of the last build, as it stands in Redis. */
import type { RedisClient } from '../data/runtime/redis.ts';
import { type OperatorReport, operatorReport } from '../data/schema/quality.ts';
import { redisKeys } from '../data/schema/redis-keys.ts';

/** Null before the first build that reported one. */
export async function readQuality(redis: RedisClient): Promise<OperatorReport | null> {
  const text = await redis.get(redisKeys.quality);
  return text === null ? null : operatorReport.parse(JSON.parse(text));
}
