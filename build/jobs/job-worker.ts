/**
 * Takes jobs from the queues and has them done. A job whose worker dies is noticed by the next worker that looks
 * (BullMQ renews a lock while a job is worked on), fails, and is not begun again by itself: what it left is put right
 * by `onLost`, and an operator or the next night decides.
 */
import { type Job, Worker } from 'bullmq';
import type { Logger } from 'pino';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { INGEST_QUEUE, JOBS, type JobName, type JobResult, PUBLISH_QUEUE } from '../../data/schema/jobs.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { JobHandlers } from './job-handlers.ts';

/** Long enough for a pause of the process, short enough that a crash is known within two minutes. */
const LOCK_MS = 60_000;
const LOOK_FOR_STALLED_MS = 30_000;

export interface JobWorkerOptions {
  /** A connection for jobs, which the workers keep to themselves. */
  redis: RedisClient;
  handlers: JobHandlers;
  log: Logger;
  /** How many ingestions and nights at once; builds are always one at a time. */
  atOnce: number;
  /** Some job was left by a worker that died. */
  onLost: () => Promise<void>;
  lock_ms?: number;
  lookForStalled_ms?: number;
}

export interface JobWorker {
  /** Cancels what runs, and settles when it has ended. */
  stop(): Promise<void>;
}

export function startJobWorker(options: JobWorkerOptions): JobWorker {
  const stopping = new AbortController();
  const { redis: connection, log, lock_ms = LOCK_MS, lookForStalled_ms = LOOK_FOR_STALLED_MS } = options;
  const workers = [INGEST_QUEUE, PUBLISH_QUEUE].map((queue) => {
    const worker = new Worker<unknown, JobResult>(queue, (job) => work(job, options, stopping.signal), {
      connection,
      prefix: redisKeys.jobs,
      concurrency: queue === PUBLISH_QUEUE ? 1 : options.atOnce,
      lockDuration: lock_ms,
      stalledInterval: lookForStalled_ms,
      // A job that took its worker down with it would do so again.
      maxStalledCount: 0,
    });
    worker.on('failed', (job, error) => {
      log.error({ job: job?.id, name: job?.name, err: error }, 'a job failed');
      if (/stalled/.test(error.message)) void options.onLost();
    });
    // The connection tells of its own outages.
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
  if (!isJobName(job.name)) throw new Error(`nobody knows the job "${job.name}"`);
  log.info({ job: job.id, name: job.name, payload: job.data }, 'job begins');
  const result = await perform(handlers, job.name, job.data, signal);
  log.info({ job: job.id, name: job.name, ...result }, 'job ends');
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
