/** The BullMQ queue of account jobs; see `queue.ts`. */
import { Queue } from 'bullmq';
import { producerOptions } from '../../../../data/runtime/jobs.ts';
import type { RedisClient } from '../../../../data/runtime/redis.ts';

export const ACCOUNT_QUEUE = 'account';

export function openAccountQueue(redis: RedisClient): Queue {
  const queue = new Queue(ACCOUNT_QUEUE, producerOptions(redis));
  // The connection logs its own outages.
  queue.on('error', () => {});
  return queue;
}
