/**
 * The queues of a gateway: account jobs (mail, preparing privacy requests, checking balances) and deliveries of webhooks.
 * BullMQ on the same Redis retries what failed, survives the process that was doing it, and gives each job to one of all
 * gateways.
 *
 * Sign-up and password reset queue the same job for every address; only the job finds out whether the address has an
 * account, so that the page's answer cannot reveal it.
 */
import { createHash } from 'node:crypto';
import { type Job, Queue, Worker } from 'bullmq';
import type { Logger } from 'pino';
import { producerOptions } from '../../../../data/runtime/jobs.ts';
import type { RedisClient } from '../../../../data/runtime/redis.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, redisKeys } from '../../../../data/schema/redis-keys.ts';
import { type JobData, type JobName, removePersonalData, withoutAddresses } from './job-data.ts';

/** Handlers must be idempotent. */
export type JobHandlers = { [Name in JobName]: (data: JobData[Name]) => Promise<void> };

export type JobProducer = Pick<JobQueue, 'add' | 'addOnce'>;

/** Id of the job that prepares a request. */
export const prepareJobId = (request_id: string): string => `prepare-${request_id}`;

const TOLD_ID_LENGTH = 32;

/** Id of both the job and the mail: the same however often it is sent. */
export function toldId({ account_id, recipient, event }: JobData['told']): string {
  const digest = createHash('sha256')
    .update(`${account_id ?? recipient} ${event.id} ${recipient}`)
    .digest('hex');
  return `notice-${digest.slice(0, TOLD_ID_LENGTH)}`;
}

/** Queues a job for each recipient of an event, once. */
export async function queueTold(
  jobs: JobProducer,
  told: Omit<JobData['told'], 'recipient'>,
  recipients: readonly string[],
): Promise<void> {
  for (const recipient of recipients)
    await jobs.addOnce('told', { ...told, recipient }, toldId({ ...told, recipient }));
}

const SWEEP_INTERVAL_MS = 30_000;
/** Longer than a key is about to expire. */
const ONCE_MS = 8 * DAY_MS;
const MAX_GIVEN_UP = 1_000;
const SECOND_MS = 1_000;

/** The delays come before the second and each further attempt. */
const QUEUES = {
  /** Two hours in all, so that a restarting mail server loses no mail. */
  account: {
    concurrency: 4,
    delays_ms: [5 * SECOND_MS, MINUTE_MS, 15 * MINUTE_MS, 105 * MINUTE_MS],
  },
  /** Deliveries, apart so that slow endpoints delay no mail: more than three days in all. */
  webhooks: {
    concurrency: 16,
    delays_ms: [
      ...[5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS],
      ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
    ],
  },
} as const satisfies Record<string, { concurrency: number; delays_ms: readonly number[] }>;

type QueueName = keyof typeof QUEUES;

export const WEBHOOK_DELAYS_MS: readonly number[] = QUEUES.webhooks.delays_ms;
export const WEBHOOK_ATTEMPTS = WEBHOOK_DELAYS_MS.length + 1;

/** Options of a job that is tried again. */
export const retryOptions = (name: QueueName) => ({
  attempts: QUEUES[name].delays_ms.length + 1,
  backoff: { type: 'custom' },
  stackTraceLimit: 0,
});

/** Finished jobs are deleted, because they contain addresses. */
const KEPT = { ...retryOptions('account'), removeOnComplete: true, removeOnFail: { count: MAX_GIVEN_UP } };
/** Jobs that are not kept. Scheduled ones are not retried: the next one comes anyway. */
export const REMOVED = { removeOnComplete: true, removeOnFail: true } as const;

/** @param redis is not closed with the queue */
export function openQueue(redis: RedisClient, name: QueueName): Queue {
  const queue = new Queue(name, producerOptions(redis));
  // The connection logs its own outages.
  queue.on('error', () => {});
  return queue;
}

/** @param redis a connection that only this worker uses @param work must bear being repeated */
export function startWorker<Data>(
  redis: RedisClient,
  name: QueueName,
  work: (job: Job<Data>) => Promise<void>,
): Worker<Data> {
  const { concurrency, delays_ms } = QUEUES[name];
  const worker = new Worker<Data>(name, work, {
    connection: redis,
    prefix: redisKeys.jobs,
    concurrency,
    // A job whose worker ends is taken up by another, and given up like one that failed.
    maxStalledCount: delays_ms.length,
    settings: { backoffStrategy: (attempts: number) => delays_ms[attempts - 1] ?? 0 },
  });
  // The connection logs its own outages.
  worker.on('error', () => {});
  return worker;
}

export class JobQueue {
  readonly #queue: Queue;

  constructor(redis: RedisClient) {
    this.#queue = openQueue(redis, 'account');
  }

  /** @param id while a job with this id waits, the same job is not queued again. */
  async add<Name extends JobName>(name: Name, data: JobData[Name], id?: string): Promise<void> {
    await this.#queue.add(name, data, { ...KEPT, ...(id !== undefined && { jobId: id }) });
  }

  /** Queues a job unless one with this id was queued in the last eight days, even if it is done. */
  async addOnce<Name extends JobName>(name: Name, data: JobData[Name], id: string): Promise<void> {
    const deduplication = { id, ttl: ONCE_MS };
    await this.#queue.add(name, data, { ...KEPT, deduplication });
  }

  /**
   * Schedules the sweep every half minute, the look for keys that expire every hour, and the erasures every night.
   * @param nightly cron pattern in UTC, or `off`
   */
  async schedule(nightly: string): Promise<void> {
    const opts = REMOVED;
    await this.#queue.upsertJobScheduler('sweep', { every: SWEEP_INTERVAL_MS }, { name: 'sweep', opts });
    const hourly = { name: 'expiring-keys', opts };
    await this.#queue.upsertJobScheduler('expiring-keys', { every: HOUR_MS }, hourly);
    if (nightly === 'off') await this.#queue.removeJobScheduler('erase');
    else {
      const repeat = { pattern: nightly, tz: 'UTC' };
      await this.#queue.upsertJobScheduler('erase', repeat, { name: 'erase', opts });
    }
  }

  close(): Promise<void> {
    return this.#queue.close();
  }
}

/** @param redis a connection that only this worker uses */
export function startJobWorker(
  redis: RedisClient,
  handlers: JobHandlers,
  log: Logger,
): { stop(): Promise<void> } {
  const work = async (job: Job): Promise<void> => {
    const handler = isJobName(job.name, handlers) ? handlers[job.name] : null;
    if (!handler) return log.error({ job: job.name }, 'unknown account job');
    try {
      await (handler as (data: unknown) => Promise<void>)(job.data);
    } catch (error) {
      log.warn({ job: job.name, attempts: job.attemptsMade + 1, err: error }, 'account job failed');
      if (job.attemptsMade + 1 >= (job.opts.attempts ?? 1)) await removePersonalData(job);
      throw new Error(withoutAddresses(error));
    }
  };
  const worker = startWorker(redis, 'account', work);
  // A job that was lost with its worker five times fails without having run.
  worker.on('failed', (job) => {
    if (job?.finishedOn !== undefined) removePersonalData(job).catch(() => {});
  });
  return { stop: () => worker.close() };
}

const isJobName = (name: string, handlers: JobHandlers): name is JobName => Object.hasOwn(handlers, name);
