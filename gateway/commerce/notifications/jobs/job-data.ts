/** What account jobs are about, and what of that names people. */
import type { Job } from 'bullmq';
import type { StoredEvent } from '../outbox.ts';

export interface JobData {
  'sign-up': { email: string; name: string };
  reset: { email: string };
  'sign-in-link': { email: string };
  'email-change': { person_id: string; email: string };
  /** Tells one of the two addresses. */
  'address-changed': { email: string; person_id: string; from: string; to: string; canUndo: boolean };
  invitation: { account_id: string; invitation_id: string };
  /** Tells a person of an event of an account or of the person, or operators by `mail` or `webhook`; see `Teller`. */
  told: { account_id: string | null; recipient: string; event: StoredEvent };
  prepare: { request_id: string };
  /** Carries out one erasure. */
  erasure: { request_id: string };
  sweep: Record<string, never>;
  /** Queues mails about keys that are about to expire. */
  'expiring-keys': Record<string, never>;
  /** Queues every erasure that is ready. */
  erase: Record<string, never>;
}
export type JobName = keyof JobData;

/** Members of a job's data that are kept while it is given up; all others may name people. */
const KEPT: ReadonlySet<string> = new Set([
  'account_id',
  'canUndo',
  'event',
  'invitation_id',
  'person_id',
  'recipient',
  'request_id',
]);

/** Empties the members of a job that may name people. */
export const removePersonalData = (job: Job): Promise<void> =>
  job.updateData(
    Object.fromEntries(membersOf(job).map(([name, value]) => [name, KEPT.has(name) ? value : null])),
  );

const membersOf = ({ data }: Job): [string, unknown][] => Object.entries(data);

export const keptMembers = (job: Job): Record<string, unknown> =>
  Object.fromEntries(membersOf(job).filter(([name]) => KEPT.has(name)));

/** Whether a given-up job still holds all that it is about. */
export const isWhole = (job: Job): boolean =>
  membersOf(job).length > 0 && membersOf(job).every(([name]) => KEPT.has(name));

const ADDRESS = /[^\s<>"'(),;:]+@[^\s<>"'(),;:]+/g;

export const withoutAddresses = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll(ADDRESS, '(address)');
