/**
 * Work of the account pages that no page waits for: mail, preparing subject-rights requests, watching balances. A
 * BullMQ queue on the same Redis holds it, so that it is tried again when it fails, is not lost with the process that
 * was doing it, and is done once however many gateways there are.
 *
 * A page that was asked to sign somebody up or to reset a password queues the same job whoever the address belongs to:
 * what the answer must not tell is only found out here.
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

/** Does one kind of job. It may be called again for a job that it did before. */
export type JobHandlers = { [Name in JobName]: (data: JobData[Name]) => Promise<void> };

export interface Jobs {
  /** @param id the same job is not queued twice while it waits. */
  add<Name extends JobName>(name: Name, data: JobData[Name], id?: string): Promise<void>;
}

const QUEUE = 'account';
const SWEEP_EVERY_MS = 30_000;
const AT_ONCE = 4;
/** Tries over about two hours: a mail server that is being restarted loses no mail. */
const TRIES = { attempts: 10, backoff: { type: 'exponential', delay: 5_000 } } as const;
/** Jobs hold addresses and hashed passwords: nothing of them stays. */
const LEAVES_NOTHING = { removeOnComplete: true, removeOnFail: true } as const;

export class JobQueue implements Jobs {
  readonly #queue: Queue;

  constructor(redis: RedisClient) {
    this.#queue = new Queue(QUEUE, { connection: redis, prefix: redisKeys.jobs, skipWaitingForReady: true });
    this.#queue.on('error', () => {});
  }

  async add<Name extends JobName>(name: Name, data: JobData[Name], id?: string): Promise<void> {
    await this.#queue.add(name, data, {
      ...TRIES,
      ...LEAVES_NOTHING,
      ...(id !== undefined && { jobId: id }),
    });
  }

  /**
   * Has the sweep done every half minute, and erasures carried out with the night, by one of all workers.
   * @param night when the night begins: a cron pattern in UTC, or `off`
   */
  async schedule(night: string): Promise<void> {
    const opts = LEAVES_NOTHING;
    await this.#queue.upsertJobScheduler('sweep', { every: SWEEP_EVERY_MS }, { name: 'sweep', opts });
    if (night === 'off') await this.#queue.removeJobScheduler('erase');
    else
      await this.#queue.upsertJobScheduler('erase', { pattern: night, tz: 'UTC' }, { name: 'erase', opts });
  }

  close(): Promise<void> {
    return this.#queue.close();
  }
}

/** Begins to work. @param redis a connection for jobs, which the worker keeps to itself. */
export function startWorker(
  redis: RedisClient,
  handlers: JobHandlers,
  log: Logger,
): { stop(): Promise<void> } {
  const work = async (job: Job): Promise<void> => {
    const handler = isJobName(job.name, handlers) ? handlers[job.name] : null;
    if (handler) await (handler as (data: unknown) => Promise<void>)(job.data);
    else log.error({ job: job.name }, 'nobody knows this job');
  };
  const worker = new Worker(QUEUE, work, { connection: redis, prefix: redisKeys.jobs, concurrency: AT_ONCE });
  worker.on('failed', (job, error) =>
    log.warn({ job: job?.name, tries: job?.attemptsMade, err: error }, 'a job failed'),
  );
  // The connection tells of its own outages.
  worker.on('error', () => {});
  return { stop: () => worker.close() };
}

const isJobName = (name: string, handlers: JobHandlers): name is JobName => Object.hasOwn(handlers, name);
