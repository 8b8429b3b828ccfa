/**
 * Enqueues jobs for the worker in `build/`.
 *
 * A provider has at most one job waiting or running, and none is queued while a nightly run or a command line ingests it.
 * A rebuild requested during a rebuild runs once more after it, so that changes made meanwhile are published. Without
 * Redis a call fails at once and queues nothing.
 */
import { randomUUID } from 'node:crypto';
import { type Job, type JobsOptions, Queue } from 'bullmq';
import { z } from 'zod';
import {
  INGEST_QUEUE,
  JOBS,
  type JobName,
  type JobPayload,
  PUBLISH_QUEUE,
  QUEUE_OF,
} from '../schema/jobs.ts';
import { redisKeys } from '../schema/redis-keys.ts';
import type { RedisClient } from './redis.ts';
import { RunStore } from './run-store.ts';

/**
 * `queued`: a new job. `waiting`: the same job, `job`, is already queued and will read the data of its start. `running`:
 * the provider is being ingested now.
 */
export interface EnqueueResult {
  state: 'queued' | 'waiting' | 'running';
  job: string | null;
  /** Id of the active run. */
  run: string | null;
}

/** A job that ended with an unexpected error. */
export type FailedJob = ReturnType<typeof failedJob>;

const JOBS_READ = 100;
const KEPT = { removeOnComplete: { count: 100 }, removeOnFail: { count: 100 } } as const;

export class JobService {
  readonly #queues: ReadonlyMap<string, Queue>;
  readonly #runs: RunStore;

  /** @param redis is not closed by `close`. */
  constructor(redis: RedisClient, now: () => number) {
    this.#runs = new RunStore(redis, now);
    this.#queues = new Map([INGEST_QUEUE, PUBLISH_QUEUE].map((name) => [name, openQueue(name, redis)]));
  }

  /** Ingests one provider, then publishes when its figures changed. */
  async ingest(provider: string, request: { force?: boolean; by?: string } = {}): Promise<EnqueueResult> {
    return (
      (await this.#busy(provider)) ?? this.#add('ingest', { provider, ...request }, `provider:${provider}`)
    );
  }

  /** Accepts a held run, then publishes. */
  async accept(provider: string, run: string, request: { by?: string } = {}): Promise<EnqueueResult> {
    return (
      (await this.#busy(provider)) ??
      this.#add('accept', { provider, run, ...request }, `accept:${provider}:${run}`)
    );
  }

  /** Ingests the providers that are due, or all, then publishes once. */
  nightly(request: { all?: boolean; by?: string } = {}): Promise<EnqueueResult> {
    return this.#add('nightly', request, 'nightly');
  }

  /** Builds and publishes from the lake and the operators' changes. */
  rebuild(request: { by?: string } = {}): Promise<EnqueueResult> {
    return this.#add('rebuild', request, 'rebuild', { keepLastIfActive: true });
  }

  /** Serves an earlier snapshot. */
  rollback(to: string | null, request: { by?: string; reason?: string } = {}): Promise<EnqueueResult> {
    return this.#add('rollback', { to, ...request }, `rollback:${to ?? ''}`);
  }

  /** Schedules the nightly run by a cron pattern in UTC; null removes the schedule. */
  async schedule(pattern: string | null): Promise<void> {
    const queue = this.#queue('nightly');
    if (pattern === null) await queue.removeJobScheduler('nightly');
    else {
      const template = { name: 'nightly', data: JOBS.nightly.parse({}), opts: KEPT };
      await queue.upsertJobScheduler('nightly', { pattern, tz: 'UTC' }, template);
    }
  }

  /** Failed jobs that have not succeeded since, newest first. */
  async listFailed(): Promise<FailedJob[]> {
    const found = await Promise.all([...this.#queues.values()].map(listFailedIn));
    return found.flat().sort((a, b) => b.failed_at_ms - a.failed_at_ms);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
  }

  async #busy(provider: string): Promise<EnqueueResult | null> {
    const run = await this.#runs.running(provider);
    return run && { state: 'running', job: null, run: run.run_id };
  }

  async #add<Name extends JobName>(
    name: Name,
    payload: Partial<JobPayload<Name>>,
    deduplicationId: string,
    more: { keepLastIfActive?: boolean } = {},
  ): Promise<EnqueueResult> {
    const options: JobsOptions = {
      ...KEPT,
      jobId: randomUUID(),
      deduplication: { id: deduplicationId, ...more },
    };
    const { id = null } = await this.#queue(name).add(name, JOBS[name].parse(payload), options);
    return { state: id === options.jobId ? 'queued' : 'waiting', job: id, run: null };
  }

  #queue(name: JobName): Queue {
    const queue = this.#queues.get(QUEUE_OF[name]);
    if (!queue) throw new RangeError(`no queue for ${name}`);
    return queue;
  }
}

async function listFailedIn(queue: Queue): Promise<FailedJob[]> {
  const endedJobs = async (read: Promise<Job[]>): Promise<FailedJob[]> => {
    // A job that is removed meanwhile is undefined, against its type.
    const jobs: (Job | undefined)[] = await read;
    return jobs.filter((job) => job !== undefined).map(failedJob);
  };
  const [failed, completed] = await Promise.all([
    endedJobs(queue.getFailed(0, JOBS_READ - 1)),
    endedJobs(queue.getCompleted(0, JOBS_READ - 1)),
  ]);
  const ended = [...failed, ...completed].sort((a, b) => a.failed_at_ms - b.failed_at_ms);
  const newest = new Map(ended.map((job) => [jobKey(job), job]));
  return failed.filter((job) => newest.get(jobKey(job)) === job);
}

const jobKey = ({ name, subject }: FailedJob): string => `${name} ${subject ?? ''}`;

function failedJob({ id = '', name, data, failedReason, finishedOn, timestamp }: Job) {
  const { provider } = z.object({ provider: z.string().optional() }).parse(data);
  return {
    id,
    name,
    reason: failedReason ?? '',
    failed_at_ms: finishedOn ?? timestamp,
    /** The provider; null for jobs of no single one. */
    subject: provider ?? null,
  };
}

/**
 * Options of a queue that only adds jobs. Without Redis its calls fail at once. BullMQ asks for the version when the queue
 * is opened; without Redis that would fail, and the queue would stay unusable when Redis is back.
 */
export const producerOptions = (redis: RedisClient) => ({
  connection: redis,
  prefix: redisKeys.jobs,
  skipWaitingForReady: true,
  skipVersionCheck: true,
});

function openQueue(name: string, redis: RedisClient): Queue {
  const queue = new Queue(name, producerOptions(redis));
  // The connection logs its outages.
  queue.on('error', () => {});
  return queue;
}
