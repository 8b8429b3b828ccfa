/** Handlers of the account jobs. All are idempotent: a job may run again after it was done. */
import type { RedisClient } from '../../data/runtime/redis.ts';
import type { AccountStore } from './accounts/accounts.ts';
import type { AuditLog } from './history/history.ts';
import {
  type BalanceAlerts,
  type ChangeAlerts,
  findExpiringKeys,
  type JobHandlers,
  type JobProducer,
  type Outbox,
  prepareJobId,
  type SpendingAlerts,
  type Teller,
} from './notifications/notifications.ts';
import type { EmailChanges, Invitations, Onboarding } from './people/people.ts';
import type { PrivacyService } from './privacy/privacy.ts';

/** What the jobs do their work with. */
export interface JobParts {
  redis: RedisClient;
  now: () => number;
  accounts: AccountStore;
  invitations: Invitations;
  emailChanges: EmailChanges;
  audit: AuditLog;
  alerts: BalanceAlerts;
  spendingAlerts: SpendingAlerts;
  changeAlerts: ChangeAlerts;
  onboarding: Onboarding;
  outbox: Outbox;
  teller: Teller;
  privacy: PrivacyService;
  jobs: JobProducer;
}

export function createJobHandlers(parts: JobParts): JobHandlers {
  const {
    accounts,
    alerts,
    spendingAlerts,
    changeAlerts,
    audit,
    onboarding,
    invitations,
    emailChanges,
    privacy,
    jobs,
    outbox,
    teller,
    redis,
    now,
  } = parts;
  return {
    'sign-up': (signUp) => onboarding.sendSignUpMail(signUp),
    'sign-in-link': ({ email }) => onboarding.sendSignInLink(email),
    reset: ({ email }) => onboarding.sendResetMail(email),
    'email-change': ({ person_id, email }) => emailChanges.sendLink(person_id, email),
    'address-changed': (change) => emailChanges.tell(change),
    invitation: ({ account_id, invitation_id }) => invitations.send(account_id, invitation_id),
    told: (job) => teller.send(job),
    'expiring-keys': () => findExpiringKeys({ redis, now }, accounts, outbox),
    prepare: async ({ request_id }) => {
      await privacy.prepare(request_id);
      await teller.tellNow('requests');
    },
    erasure: async ({ request_id }) => {
      await privacy.erase(request_id, 'nightly batch');
    },
    // `npm run account -- erase --ready` does the same at once.
    erase: async () => {
      for (const { request_id } of await privacy.listErasable())
        await jobs.add('erasure', { request_id }, `erasure-${request_id}`);
    },
    // Looks for what is to be told, tells what the outbox holds, issues invoices, deletes expired exports, and queues jobs that
    // were lost when a process died between a change and its job.
    sweep: async () => {
      await audit.recoverPending();
      await privacy.deleteExpired();
      for (const { request_id } of await privacy.listUnprepared())
        await jobs.add('prepare', { request_id }, prepareJobId(request_id));
      await alerts.findCrossings();
      await spendingAlerts.findPassed();
      await changeAlerts.findConcerned();
      await teller.sweep();
      await accounts.orders.invoices.sweep();
    },
  };
}
