/**
 * The queue of account jobs: mail, preparing privacy requests, checking balances. A BullMQ queue on the same Redis
 * retries failed jobs, survives the process that was doing them, and gives each job to one of all gateways.
 *
 * Sign-up and password reset queue the same job for every address; only the job finds out whether the address has an
 * account, so that the page's answer cannot reveal it.
 */
import { createHash } from 'node:crypto';
import { type Job, Queue, Worker } from 'bullmq';
import type { Logger } from 'pino';
import { producerOptions } from '../../../../data/runtime/jobs.ts';
import type { RedisClient } from '../../../../data/runtime/redis.ts';
import { DAY_MS, redisKeys } from '../../../../data/schema/redis-keys.ts';
import { type JobData, type JobName, removePersonalData, withoutAddresses } from './job-data.ts';

/** Handlers must be idempotent. */
export type JobHandlers = { [Name in JobName]: (data: JobData[Name]) => Promise<void> };

export interface JobProducer {
  /** @param id while a job with this id waits, the same job is not queued again. */
  add<Name extends JobName>(name: Name, data: JobData[Name], id?: string): Promise<void>;
  /** Queues a job unless one with this id was queued in the last eight days, even if it is done. */
  addOnce<Name extends JobName>(name: Name, data: JobData[Name], id: string): Promise<void>;
}

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
const EXPIRY_INTERVAL_MS = 3_600_000;
/** Longer than a key is about to expire. */
const ONCE_MS = 8 * DAY_MS;
const CONCURRENCY = 4;
const ATTEMPTS = 5;
const MAX_GIVEN_UP = 1_000;
/** Before the second to the fifth attempt: two hours in all, so that a restarting mail server loses no mail. */
const RETRY_DELAYS_MS = [5_000, 60_000, 900_000, 6_300_000];
const RETRIES = { attempts: ATTEMPTS, backoff: { type: 'custom' }, stackTraceLimit: 0 } as const;
/** Finished jobs are deleted, because they contain addresses. */
const KEEP_GIVEN_UP = { removeOnComplete: true, removeOnFail: { count: MAX_GIVEN_UP } } as const;
/** Scheduled jobs are not retried: the next one comes anyway. */
const REMOVE = { removeOnComplete: true, removeOnFail: true } as const;

const ACCOUNT_QUEUE = 'account';

export function openAccountQueue(redis: RedisClient): Queue {
  const queue = new Queue(ACCOUNT_QUEUE, producerOptions(redis));
  // The connection logs its own outages.
  queue.on('error', () => {});
  return queue;
}

export class JobQueue implements JobProducer {
  readonly #queue: Queue;

  constructor(redis: RedisClient) {
    this.#queue = openAccountQueue(redis);
  }

  async add<Name extends JobName>(name: Name, data: JobData[Name], id?: string): Promise<void> {
    const options = { ...RETRIES, ...KEEP_GIVEN_UP, ...(id !== undefined && { jobId: id }) };
    await this.#queue.add(name, data, options);
  }

  async addOnce<Name extends JobName>(name: Name, data: JobData[Name], id: string): Promise<void> {
    const deduplication = { id, ttl: ONCE_MS };
    await this.#queue.add(name, data, { ...RETRIES, ...KEEP_GIVEN_UP, deduplication });
  }

  /**
   * Schedules the sweep every half minute, the look for keys that expire every hour, and the erasures every night.
   * @param nightly cron pattern in UTC, or `off`
   */
  async schedule(nightly: string): Promise<void> {
    const opts = REMOVE;
    await this.#queue.upsertJobScheduler('sweep', { every: SWEEP_INTERVAL_MS }, { name: 'sweep', opts });
    const hourly = { name: 'expiring-keys', opts };
    await this.#queue.upsertJobScheduler('expiring-keys', { every: EXPIRY_INTERVAL_MS }, hourly);
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
  const options = {
    ...{ connection: redis, prefix: redisKeys.jobs, concurrency: CONCURRENCY },
    // A job whose worker ends is taken up by another, and given up like one that failed.
    maxStalledCount: ATTEMPTS - 1,
    settings: { backoffStrategy: (attempts: number) => RETRY_DELAYS_MS[attempts - 1] ?? 0 },
  };
  const worker = new Worker(ACCOUNT_QUEUE, work, options);
  // A job that was lost with its worker five times fails without having run.
  worker.on('failed', (job) => {
    if (job?.finishedOn !== undefined) removePersonalData(job).catch(() => {});
  });
  // The connection logs its own outages.
  worker.on('error', () => {});
  return { stop: () => worker.close() };
}

const isJobName = (name: string, handlers: JobHandlers): name is JobName => Object.hasOwn(handlers, name);
