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

/** Names of the members of one kind of job. */
type Members<Name extends JobName> = string extends keyof JobData[Name] ? never : keyof JobData[Name];

/** Members of a job's data: `kept` while it is given up, or `personal` and removed by then. */
const JOB_MEMBERS: {
  readonly [Name in JobName]: Readonly<Record<Members<Name>, 'kept' | 'personal'>>;
} = {
  'sign-up': { email: 'personal', name: 'personal' },
  reset: { email: 'personal' },
  'sign-in-link': { email: 'personal' },
  'email-change': { person_id: 'kept', email: 'personal' },
  'address-changed': {
    email: 'personal',
    person_id: 'kept',
    from: 'personal',
    to: 'personal',
    canUndo: 'kept',
  },
  invitation: { account_id: 'kept', invitation_id: 'kept' },
  told: { account_id: 'kept', recipient: 'kept', event: 'kept' },
  prepare: { request_id: 'kept' },
  erasure: { request_id: 'kept' },
  sweep: {},
  'expiring-keys': {},
  erase: {},
};

/** Removes from a job the members that name people. */
export const removePersonalData = (job: Job): Promise<void> => job.updateData(keptMembers(job));

const listMembers = ({ name }: Job): [string, 'kept' | 'personal'][] =>
  Object.entries(JOB_MEMBERS[name as JobName]);

export function keptMembers(job: Job): Record<string, unknown> {
  const held: Record<string, unknown> = job.data;
  const kept = listMembers(job).filter(([member, kind]) => kind === 'kept' && member in held);
  return Object.fromEntries(kept.map(([member]) => [member, held[member]]));
}

/** Whether a given-up job still holds all that it is about. */
export const isWhole = (job: Job): boolean =>
  listMembers(job).length > 0 && listMembers(job).length === Object.keys(keptMembers(job)).length;

const ADDRESS = /[^\s<>"'(),;:]+@[^\s<>"'(),;:]+/g;

export const withoutAddresses = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll(ADDRESS, '(address)');
