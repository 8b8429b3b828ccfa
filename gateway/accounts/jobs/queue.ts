/**
 * The queue of account jobs: mail, preparing privacy requests, checking balances. A BullMQ queue on the same Redis
 * retries failed jobs, survives the process that was doing them, and gives each job to one of all gateways.
 *
 * Sign-up and password reset queue the same job for every address; only the job finds out whether the address has an
 * account, so that the page's answer cannot reveal it.
 */
import { type Job, Queue, Worker } from 'bullmq';
import type { Logger } from 'pino';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';

export interface JobData {
  'sign-up': { email: string; name: string; password: string };
  reset: { email: string };
  'low-balance': { account_id: string };
  prepare: { request_id: string };
  sweep: Record<string, never>;
  erase: Record<string, never>;
}
export type JobName = keyof JobData;

/** Handlers must be idempotent. */
export type JobHandlers = { [Name in JobName]: (data: JobData[Name]) => Promise<void> };

export interface JobProducer {
  /** @param id while a job with this id waits, the same job is not queued again. */
  add<Name extends JobName>(name: Name, data: JobData[Name], id?: string): Promise<void>;
}

const QUEUE = 'account';
const SWEEP_INTERVAL_MS = 30_000;
const CONCURRENCY = 4;
/** Retries for about two hours, so that a restarting mail server loses no mail. */
const RETRIES = { attempts: 10, backoff: { type: 'exponential', delay: 5_000 } } as const;
/** Finished jobs are deleted, because they contain addresses and password hashes. */
const REMOVE = { removeOnComplete: true, removeOnFail: true } as const;

export class JobQueue implements JobProducer {
  readonly #queue: Queue;

  constructor(redis: RedisClient) {
    this.#queue = new Queue(QUEUE, { connection: redis, prefix: redisKeys.jobs, skipWaitingForReady: true });
    this.#queue.on('error', () => {});
  }

  async add<Name extends JobName>(name: Name, data: JobData[Name], id?: string): Promise<void> {
    await this.#queue.add(name, data, { ...RETRIES, ...REMOVE, ...(id !== undefined && { jobId: id }) });
  }

  /**
   * Schedules the sweep every half minute and the erasures every night.
   * @param nightly cron pattern in UTC, or `off`
   */
  async schedule(nightly: string): Promise<void> {
    const opts = REMOVE;
    await this.#queue.upsertJobScheduler('sweep', { every: SWEEP_INTERVAL_MS }, { name: 'sweep', opts });
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
    if (handler) await (handler as (data: unknown) => Promise<void>)(job.data);
    else log.error({ job: job.name }, 'unknown account job');
  };
  const options = { connection: redis, prefix: redisKeys.jobs, concurrency: CONCURRENCY };
  const worker = new Worker(QUEUE, work, options);
  worker.on('failed', (job, error) =>
    log.warn({ job: job?.name, attempts: job?.attemptsMade, err: error }, 'account job failed'),
  );
  // The connection logs its own outages.
  worker.on('error', () => {});
  return { stop: () => worker.close() };
}

const isJobName = (name: string, handlers: JobHandlers): name is JobName => Object.hasOwn(handlers, name);
