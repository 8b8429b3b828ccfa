/**
 * Account jobs that failed five times and are not tried again by themselves. They stay in the queue's set of failed
 * jobs, without personal data, until an operator retries or dismisses them.
 */
import type { Job, Queue } from 'bullmq';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { openAccountQueue } from './account-queue.ts';

/** Times are Unix milliseconds. */
export interface GivenUpJob {
  id: string;
  /** A `JobName`. */
  name: string;
  /** Null for mails to an address, which is not stored, or to a person. */
  account_id: string | null;
  /** The privacy request that it was to carry out. */
  request_id: string | null;
  /** The alert to operators that it was to deliver. */
  delivery: string | null;
  attempts: number;
  /** The last error, without addresses. */
  reason: string;
  queued_at_ms: number;
  failed_at_ms: number;
  /** False for mails to an address: its owner asks again. */
  canRetry: boolean;
}

export class GivenUpJobs {
  readonly #queue: Queue;

  /** @param redis is not closed by `close`. */
  constructor(redis: RedisClient) {
    this.#queue = openAccountQueue(redis);
  }

  /** Newest first. */
  async list(limit = 100): Promise<GivenUpJob[]> {
    // A job that was removed meanwhile is undefined, against its type.
    const jobs: (Job | undefined)[] = await this.#queue.getFailed(0, limit - 1);
    return jobs.flatMap((job) => (job ? [givenUpOf(job)] : []));
  }

  count(): Promise<number> {
    return this.#queue.getFailedCount();
  }

  async has(id: string): Promise<boolean> {
    return (await this.#find(id)) !== null;
  }

  /** Tries a job five times more. False if there is no such job, or it cannot be retried. */
  async retry(id: string): Promise<boolean> {
    const job = await this.#find(id);
    if (!job || !givenUpOf(job).canRetry) return false;
    await job.retry('failed', { resetAttemptsMade: true });
    return true;
  }

  /** Forgets a job that cannot be retried; any other would be queued again by the sweep. False if there is none. */
  async dismiss(id: string): Promise<boolean> {
    const job = await this.#find(id);
    if (!job || givenUpOf(job).canRetry) return false;
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

/** Members of job data that name no address. */
const KEPT = [
  'account_id',
  'request_id',
  'delivery',
  'endpoint_id',
  'event_id',
  'person_id',
  'key_id',
  'invitation_id',
  'days',
] as const;
type Kept = Partial<Record<(typeof KEPT)[number], string | number>>;

/** Only ids stay. */
export const removePersonalData = (job: Job): Promise<void> => job.updateData(keptOf(job));

function keptOf({ data }: Job): Kept {
  const held: Record<string, unknown> = data;
  return Object.fromEntries(KEPT.filter((name) => name in held).map((name) => [name, held[name]]));
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const ADDRESS = /[^\s<>"'(),;:]+@[^\s<>"'(),;:]+/g;

export const withoutAddresses = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll(ADDRESS, '(address)');

function givenUpOf(job: Job): GivenUpJob {
  const { id = '', name, attemptsMade, failedReason, timestamp, finishedOn } = job;
  const kept = keptOf(job);
  const account_id = textOf(kept.account_id);
  const request_id = textOf(kept.request_id);
  const delivery = textOf(kept.delivery);
  return {
    ...{ id, name, account_id, request_id, delivery, attempts: attemptsMade, reason: failedReason ?? '' },
    ...{ queued_at_ms: timestamp, failed_at_ms: finishedOn ?? timestamp },
    canRetry: [account_id, request_id, delivery, kept.event_id].some((id) => id != null),
  };
}
