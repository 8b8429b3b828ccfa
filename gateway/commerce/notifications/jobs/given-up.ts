/**
 * Account jobs that failed five times and are not tried again by themselves. They stay in the queue's set of failed
 * jobs, without personal data, until an operator retries or dismisses them.
 */
import type { Job, Queue } from 'bullmq';
import type { RedisClient } from '../../../../data/runtime/redis.ts';
import type { StoredEvent } from '../outbox.ts';
import { isWhole, keptMembers } from './job-data.ts';
import { openQueue } from './queue.ts';

export class GivenUpJobs {
  readonly #queue: Queue;

  /** @param redis is not closed by `close`. */
  constructor(redis: RedisClient) {
    this.#queue = openQueue(redis, 'account');
  }

  /** All of them, newest first; the queue bounds how many are kept. */
  async list(): Promise<GivenUpJob[]> {
    // A job that was removed meanwhile is undefined, against its type.
    const jobs: (Job | undefined)[] = await this.#queue.getJobs(['failed'], 0, -1, false);
    return jobs.flatMap((job) => (job ? [givenUpFrom(job)] : []));
  }

  async has(id: string): Promise<boolean> {
    return (await this.#find(id)) !== null;
  }

  /** Tries a job five times more. False if there is no such job, or it cannot be retried. */
  async retry(id: string): Promise<boolean> {
    const job = await this.#find(id);
    if (!job || !givenUpFrom(job).canRetry) return false;
    await job.retry('failed', { resetAttemptsMade: true });
    return true;
  }

  /** Forgets a job. False if there is no such job, or it would come back by itself. */
  async dismiss(id: string): Promise<boolean> {
    const job = await this.#find(id);
    if (!job || !givenUpFrom(job).canDismiss) return false;
    await job.remove();
    return true;
  }

  close(): Promise<void> {
    return this.#queue.close();
  }

  async #find(id: string): Promise<Job | null> {
    const job: Job | undefined = await this.#queue.getJob(id);
    return job && (await job.isFailed()) ? job : null;
  }
}

const asText = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** Kinds that are queued again as long as there is something to do: one that were dismissed would come back. */
const RETURNING: readonly string[] = ['prepare', 'erasure', 'key.expires'];

export type GivenUpJob = ReturnType<typeof givenUpFrom>;

/** Times are Unix milliseconds. */
function givenUpFrom(job: Job) {
  const { id = '', attemptsMade, failedReason, timestamp, finishedOn } = job;
  const kept = keptMembers(job);
  const event = kept.event as StoredEvent | undefined;
  const name = event?.type ?? job.name;
  const canRetry = isWhole(job);
  return {
    id,
    /** A `JobName`, or the type of the event that it was to tell. */
    name,
    /** Null for mails to an address, which is not stored, or to a person. */
    account_id: asText(kept.account_id),
    /** The privacy request that it was to carry out. */
    request_id: asText({ ...kept, ...(event?.data as object | undefined) }.request_id),
    attempts: attemptsMade,
    /** The last error, without addresses. */
    reason: failedReason ?? '',
    queued_at_ms: timestamp,
    failed_at_ms: finishedOn ?? timestamp,
    /** False where its data named an address, which is removed: its owner asks again. */
    canRetry,
    /** False where the sweep would queue it again. */
    canDismiss: !canRetry || !RETURNING.includes(name),
  };
}
