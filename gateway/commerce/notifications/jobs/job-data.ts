/** What account jobs are about, and what of that names people. */
import type { SecurityEvent } from '../mail/templates.ts';

export interface JobData {
  'sign-up': { email: string; name: string };
  reset: { email: string };
  'sign-in-link': { email: string };
  'email-change': { person_id: string; email: string };
  /** Lets accounts follow the changes of address in the outbox of a person, and queues the mails about them. */
  'email-changed': { person_id: string };
  /** Tells one of the two addresses. */
  'address-changed': { email: string; person_id: string; from: string; to: string; canUndo: boolean };
  invitation: { account_id: string; invitation_id: string };
  'security-notice': { email: string; event: SecurityEvent };
  'low-balance': { account_id: string };
  /** More was spent in an hour or a day than the holder set. */
  spending: { account_id: string };
  /** An edition changed indicators that the account uses. */
  'indicators-changed': { account_id: string; edition: string };
  /** Delivers an alert to operators; see `OperatorAlerts`. */
  'operator-alert': { delivery: string };
  /** An endpoint is gone, or has failed for days. */
  'webhook-disabled': { account_id: string; endpoint_id: string };
  /** Tells a person of an audited change; `event_id` is that of the entry. */
  notice: { event_id: string; person_id: string; account_id: string | null };
  'key-expires': { account_id: string; key_id: string; person_id: string; days: number };
  prepare: { request_id: string };
  'export-ready': { request_id: string };
  /** Carries out one erasure. */
  erasure: { request_id: string };
  sweep: Record<string, never>;
  /** Queues mails about keys that are about to expire. */
  'expiring-keys': Record<string, never>;
  /** Queues every erasure that is ready. */
  erase: Record<string, never>;
}
export type JobName = keyof JobData;

/** Of one kind of job. */
type Members<Name extends JobName> = string extends keyof JobData[Name] ? never : keyof JobData[Name];

/** Members of a job's data: `kept` while it is given up, or `personal` and removed by then. */
export const JOB_MEMBERS: {
  readonly [Name in JobName]: Readonly<Record<Members<Name>, 'kept' | 'personal'>>;
} = {
  'sign-up': { email: 'personal', name: 'personal' },
  reset: { email: 'personal' },
  'sign-in-link': { email: 'personal' },
  'email-change': { person_id: 'kept', email: 'personal' },
  'email-changed': { person_id: 'kept' },
  'address-changed': {
    ...{ email: 'personal', person_id: 'kept', from: 'personal', to: 'personal', canUndo: 'kept' },
  },
  invitation: { account_id: 'kept', invitation_id: 'kept' },
  'security-notice': { email: 'personal', event: 'kept' },
  'low-balance': { account_id: 'kept' },
  spending: { account_id: 'kept' },
  'indicators-changed': { account_id: 'kept', edition: 'kept' },
  'operator-alert': { delivery: 'kept' },
  'webhook-disabled': { account_id: 'kept', endpoint_id: 'kept' },
  notice: { event_id: 'kept', person_id: 'kept', account_id: 'kept' },
  'key-expires': { account_id: 'kept', key_id: 'kept', person_id: 'kept', days: 'kept' },
  prepare: { request_id: 'kept' },
  'export-ready': { request_id: 'kept' },
  erasure: { request_id: 'kept' },
  sweep: {},
  'expiring-keys': {},
  erase: {},
};

/** Kinds that are queued again as long as there is something to do: one that were dismissed would come back. */
export const RETURNING: readonly JobName[] = [
  ...(['low-balance', 'spending', 'operator-alert', 'webhook-disabled'] as const),
  ...(['key-expires', 'prepare', 'erasure', 'email-changed'] as const),
];
