/**
 * Asks the worker for work. Importable by whoever may ask; what is done lies in `build/`.
 *
 * Guarantees: for one provider no second job waits or runs while one does, nor when the provider is being ingested by
 * somebody else (a night, a command line); a rebuild asked for while one runs is done once more after it, so that a
 * change made meanwhile is published too. With Redis away the call fails at once and nothing is queued.
 */
import { randomUUID } from 'node:crypto';
import { type JobsOptions, Queue } from 'bullmq';
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
 * What became of a request: `queued`; `waiting`, when the same has been asked for already and is not done (`job` is
 * that one; what it will read is what is true when it begins); `running`, when the provider is being ingested now.
 */
export interface EnqueueResult {
  state: 'queued' | 'waiting' | 'running';
  job: string | null;
  /** The run that is under way. */
  run: string | null;
}

const KEPT = { removeOnComplete: { count: 100 }, removeOnFail: { count: 100 } } as const;

export class JobService {
  readonly #queues: ReadonlyMap<string, Queue>;
  readonly #runs: RunStore;

  /** @param redis stays open when the desk is closed. */
  constructor(redis: RedisClient, now: () => number) {
    this.#runs = new RunStore(redis, now);
    this.#queues = new Map([INGEST_QUEUE, PUBLISH_QUEUE].map((name) => [name, openQueue(name, redis)]));
  }

  /** Ingests one provider, then publishes when its figures changed. */
  async ingest(provider: string, asked: { force?: boolean; by?: string } = {}): Promise<EnqueueResult> {
    return (
      (await this.#busy(provider)) ?? this.#add('ingest', { provider, ...asked }, `provider:${provider}`)
    );
  }

  /** Takes a held run as good, then publishes. */
  async accept(provider: string, run: string, asked: { by?: string } = {}): Promise<EnqueueResult> {
    return (
      (await this.#busy(provider)) ??
      this.#add('accept', { provider, run, ...asked }, `accept:${provider}:${run}`)
    );
  }

  /** Ingests what is due, or everything, then publishes once. */
  nightly(asked: { all?: boolean; by?: string } = {}): Promise<EnqueueResult> {
    return this.#add('nightly', asked, 'nightly');
  }

  /** Publishes what the lake and the operators' changes say now. */
  rebuild(asked: { by?: string } = {}): Promise<EnqueueResult> {
    return this.#add('rebuild', asked, 'rebuild', { keepLastIfActive: true });
  }

  /** Serves an earlier snapshot. */
  rollback(to: string | null, asked: { by?: string } = {}): Promise<EnqueueResult> {
    return this.#add('rollback', { to, ...asked }, `rollback:${to ?? ''}`);
  }

  /** Has the night begin by a cron pattern in UTC; null ends the schedule. */
  async schedule(pattern: string | null): Promise<void> {
    const queue = this.#queue('nightly');
    if (pattern === null) await queue.removeJobScheduler('nightly');
    else {
      const template = { name: 'nightly', data: JOBS.nightly.parse({}), opts: KEPT };
      await queue.upsertJobScheduler('nightly', { pattern, tz: 'UTC' }, template);
    }
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
    once: string,
    more: { keepLastIfActive?: boolean } = {},
  ): Promise<EnqueueResult> {
    const options: JobsOptions = { ...KEPT, jobId: randomUUID(), deduplication: { id: once, ...more } };
    const { id = null } = await this.#queue(name).add(name, JOBS[name].parse(payload), options);
    return { state: id === options.jobId ? 'queued' : 'waiting', job: id, run: null };
  }

  #queue(name: JobName): Queue {
    const queue = this.#queues.get(QUEUE_OF[name]);
    if (!queue) throw new RangeError(`no queue for ${name}`);
    return queue;
  }
}

function openQueue(name: string, redis: RedisClient): Queue {
  const queue = new Queue(name, { connection: redis, prefix: redisKeys.jobs, skipWaitingForReady: true });
  // The connection tells of its own outages.
  queue.on('error', () => {});
  return queue;
}
