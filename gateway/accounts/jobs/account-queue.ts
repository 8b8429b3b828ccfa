/** The BullMQ queue of account jobs; see `queue.ts`. */
import { Queue } from 'bullmq';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';

export const ACCOUNT_QUEUE = 'account';

export function openAccountQueue(redis: RedisClient): Queue {
  const options = { connection: redis, prefix: redisKeys.jobs, skipWaitingForReady: true };
  const queue = new Queue(ACCOUNT_QUEUE, options);
  // The connection logs its own outages.
  queue.on('error', () => {});
  return queue;
}
