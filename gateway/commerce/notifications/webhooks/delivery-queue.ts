/**
 * The queue of deliveries, apart from that of account jobs, so that slow endpoints delay no mail. BullMQ retries a delivery
 * that failed, survives the process that was sending it, and gives each to one of all gateways.
 */
import { type Job, Queue, Worker } from 'bullmq';
import type { Logger } from 'pino';
import { producerOptions } from '../../../../data/runtime/jobs.ts';
import type { RedisClient } from '../../../../data/runtime/redis.ts';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';

export const WEBHOOK_QUEUE = 'webhooks';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
/** Before the second to the tenth attempt: more than three days in all. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
];
export const ATTEMPTS = RETRY_DELAYS_MS.length + 1;
/** Deliveries that one gateway sends at a time. */
const CONCURRENCY = 16;

export interface DeliveryId {
  account_id: string;
  endpoint_id: string;
  message_id: string;
}

export interface DeliveryProducer {
  /** A delivery that waits for its next attempt is not queued again. */
  add(delivery: DeliveryId): Promise<void>;
  /** Makes the next attempt now. */
  hasten(delivery: DeliveryId): Promise<void>;
}

const jobIdOf = ({ account_id, endpoint_id, message_id }: DeliveryId): string =>
  [account_id, endpoint_id, message_id].join('-');

export class DeliveryQueue implements DeliveryProducer {
  readonly #queue: Queue;

  /** @param redis is not closed by `close`. */
  constructor(redis: RedisClient) {
    this.#queue = new Queue(WEBHOOK_QUEUE, producerOptions(redis));
    // The connection logs its own outages.
    this.#queue.on('error', () => {});
  }

  async add(delivery: DeliveryId): Promise<void> {
    await this.#queue.add('delivery', delivery, {
      ...{ jobId: jobIdOf(delivery), attempts: ATTEMPTS, backoff: { type: 'custom' }, stackTraceLimit: 0 },
      // The log of deliveries keeps what became of it.
      ...{ removeOnComplete: true, removeOnFail: true },
    });
  }

  async hasten(delivery: DeliveryId): Promise<void> {
    await this.add(delivery);
    const job: Job | undefined = await this.#queue.getJob(jobIdOf(delivery));
    if (job && (await job.isDelayed())) await job.promote();
  }

  close(): Promise<void> {
    return this.#queue.close();
  }
}

/**
 * @param deliver makes one attempt and says whether another is needed; must bear being repeated
 * @param redis a connection that only this worker uses
 */
export function startDeliveryWorker(
  redis: RedisClient,
  deliver: (delivery: DeliveryId, isLast: boolean) => Promise<'done' | 'again'>,
  log: Logger,
): { stop(): Promise<void> } {
  const work = async (job: Job<DeliveryId>): Promise<void> => {
    const isLast = job.attemptsMade + 1 >= ATTEMPTS;
    const result = await deliver(job.data, isLast).catch((error: unknown) => {
      log.warn({ delivery: job.data, err: error }, 'delivery of a webhook failed here');
      throw error;
    });
    if (result === 'again') throw new Error('the endpoint did not accept it');
  };
  const worker = new Worker(WEBHOOK_QUEUE, work, {
    ...{ connection: redis, prefix: redisKeys.jobs, concurrency: CONCURRENCY },
    // A delivery whose worker ends is taken up by another.
    maxStalledCount: ATTEMPTS,
    settings: { backoffStrategy: (attempts: number) => RETRY_DELAYS_MS[attempts - 1] ?? 0 },
  });
  // The connection logs its own outages.
  worker.on('error', () => {});
  return { stop: () => worker.close() };
}
