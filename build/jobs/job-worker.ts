/**
 * Takes jobs from the queues and runs their handlers.
 *
 * BullMQ renews a lock while a job runs. When a worker dies, the next one finds the stalled job, fails it and calls
 * `onLost`. The job is not retried: an operator or the next nightly run decides.
 */
import { type Job, Worker } from 'bullmq';
import type { Logger } from 'pino';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { INGEST_QUEUE, JOBS, type JobName, type JobResult, PUBLISH_QUEUE } from '../../data/schema/jobs.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { JobHandlers } from './job-handlers.ts';

/** Longer than a pause of the process; a crash is still detected within two minutes. */
const LOCK_MS = 60_000;
const STALLED_CHECK_MS = 30_000;

export interface JobWorkerOptions {
  /** A connection used by nothing else. */
  redis: RedisClient;
  handlers: JobHandlers;
  log: Logger;
  /** Ingestions and nightly runs at a time. Builds run one at a time. */
  concurrency: number;
  /** Called when a job was lost with its worker. */
  onLost: () => Promise<void>;
  lock_ms?: number;
  stalledCheck_ms?: number;
}

export interface JobWorker {
  /** Cancels running jobs and resolves when they have ended. */
  stop(): Promise<void>;
}

export function startJobWorker(options: JobWorkerOptions): JobWorker {
  const stopping = new AbortController();
  const { redis: connection, log, lock_ms = LOCK_MS, stalledCheck_ms = STALLED_CHECK_MS } = options;
  const workers = [INGEST_QUEUE, PUBLISH_QUEUE].map((queue) => {
    const worker = new Worker<unknown, JobResult>(queue, (job) => work(job, options, stopping.signal), {
      connection,
      prefix: redisKeys.jobs,
      concurrency: queue === PUBLISH_QUEUE ? 1 : options.concurrency,
      lockDuration: lock_ms,
      stalledInterval: stalledCheck_ms,
      // A job that crashed its worker would crash the next one.
      maxStalledCount: 0,
    });
    worker.on('failed', (job, error) => {
      log.error({ job: job?.id, name: job?.name, err: error }, 'a job failed');
      if (/stalled/.test(error.message)) void options.onLost();
    });
    // The connection logs its own outages.
    worker.on('error', (error) => log.debug({ err: error }, 'worker'));
    return worker;
  });
  return {
    stop: async () => {
      stopping.abort(new Error('the worker stops'));
      await Promise.all(workers.map((worker) => worker.close()));
    },
  };
}

async function work(job: Job, { handlers, log }: JobWorkerOptions, signal: AbortSignal): Promise<JobResult> {
  if (!isJobName(job.name)) throw new Error(`unknown job "${job.name}"`);
  log.info({ job: job.id, name: job.name, payload: job.data }, 'job started');
  const result = await perform(handlers, job.name, job.data, signal);
  log.info({ job: job.id, name: job.name, ...result }, 'job ended');
  return result;
}

function perform<Name extends JobName>(
  handlers: JobHandlers,
  name: Name,
  data: unknown,
  signal: AbortSignal,
): Promise<JobResult> {
  const payload = JOBS[name].parse(data) as Parameters<JobHandlers[Name]>[0];
  const handler = handlers[name] as (given: typeof payload, until: AbortSignal) => Promise<JobResult>;
  return handler(payload, signal);
}

const isJobName = (name: string): name is JobName => Object.hasOwn(JOBS, name);
