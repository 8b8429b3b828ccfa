/** Handlers of the account jobs. All are idempotent: a job may run again after it was done. */
import type { AccountStore } from '../../accounts/accounts.ts';
import type { AuditLog } from '../../history/history.ts';
import type { EmailChanges, Invitations, Onboarding } from '../../people/people.ts';
import type { PrivacyRequestStore, PrivacyService } from '../../privacy/privacy.ts';
import { alertHandlers, queueAlerts } from '../alerts/alert-jobs.ts';
import type { ChangeAlerts } from '../alerts/change-alerts.ts';
import type { SpendingAlerts } from '../alerts/spending-alerts.ts';
import type { BalanceAlerts } from '../balance-alerts.ts';
import type { Mailer } from '../mail/mailer.ts';
import * as templates from '../mail/templates.ts';
import type { ExpiringKeys } from '../notices/expiring-keys.ts';
import type { Notices } from '../notices/notices.ts';
import type { OperatorAlerts } from '../operator-alerts/operator-alerts.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import { type JobHandlers, type JobProducer, prepareJobId } from './queue.ts';

/** Of the job and of the mail. */
const exportReadyId = (request_id: string): string => `export-ready-${request_id}`;

export interface JobHandlerDependencies {
  accounts: AccountStore;
  alerts: BalanceAlerts;
  spendingAlerts: SpendingAlerts;
  changeAlerts: ChangeAlerts;
  webhooks: Webhooks;
  audit: AuditLog;
  onboarding: Onboarding;
  invitations: Invitations;
  emailChanges: EmailChanges;
  operatorAlerts: OperatorAlerts;
  requests: PrivacyRequestStore;
  privacy: PrivacyService;
  jobs: JobProducer;
  mailer: Mailer;
  notices: Notices;
  expiringKeys: ExpiringKeys;
  publicUrl: () => string;
}

export function createJobHandlers(dependencies: JobHandlerDependencies): JobHandlers {
  const {
    accounts,
    alerts,
    webhooks,
    audit,
    onboarding,
    invitations,
    emailChanges,
    operatorAlerts,
    requests,
    privacy,
    jobs,
    mailer,
    notices,
    expiringKeys,
    publicUrl,
  } = dependencies;
  /** A crossing after one whose mail was given up gets a job of its own. */
  const lowBalanceId = async (account_id: string): Promise<string> =>
    `low-balance-${account_id}-${await alerts.pendingCrossings(account_id)}`;
  return {
    'sign-up': (signUp) => onboarding.sendSignUpMail(signUp),
    'sign-in-link': ({ email }) => onboarding.sendSignInLink(email),
    reset: ({ email }) => onboarding.sendResetMail(email),
    'email-change': ({ person_id, email }) => emailChanges.sendLink(person_id, email),
    'email-changed': ({ person_id }) => emailChanges.follow(person_id),
    'address-changed': (change) => emailChanges.tell(change),
    invitation: ({ account_id, invitation_id }) => invitations.send(account_id, invitation_id),
    'security-notice': ({ email, event }) =>
      mailer.send(templates.securityNotice(email, `${publicUrl()}/account/forgot`, event)),
    'low-balance': async ({ account_id }) => {
      // Another worker may have sent the mail since this job was queued.
      const crossings = await alerts.pendingCrossings(account_id);
      if (crossings === 0) return;
      const [{ email, state, credits }, low_at] = await Promise.all([
        accounts.get(account_id),
        alerts.get(account_id),
      ]);
      if (state !== 'closed' && low_at !== null) {
        const link = `${publicUrl()}/account/wallet`;
        await mailer.send(templates.lowBalance(email, link, credits.balance, low_at));
      }
      await alerts.markNotified(account_id, crossings);
    },
    ...alertHandlers(dependencies),
    'operator-alert': ({ delivery }) => operatorAlerts.deliver(delivery),
    'webhook-disabled': async ({ account_id, endpoint_id }) => {
      const endpoint = (await webhooks.endpoints.list(account_id)).find(
        (one) => one.endpoint_id === endpoint_id,
      );
      // It may have been removed, or enabled again.
      if (!endpoint || endpoint.disabled_because === null) return;
      const { email } = await accounts.get(account_id);
      const link = `${publicUrl()}/account/webhooks/${endpoint_id}`;
      await mailer.send(templates.webhookDisabled(email, link, endpoint.url, endpoint.disabled_because));
      await webhooks.endpoints.markTold(account_id, endpoint_id);
    },
    notice: ({ event_id, person_id }) => notices.send(event_id, person_id),
    'key-expires': ({ account_id, ...told }) => expiringKeys.send(account_id, told),
    'expiring-keys': () => expiringKeys.queueDue(),
    prepare: async ({ request_id }) => {
      const { kind, status } = await privacy.prepare(request_id);
      // A job of its own, because this one finds nothing to prepare when it is repeated.
      if (kind === 'export' && status === 'ready')
        await jobs.addOnce('export-ready', { request_id }, exportReadyId(request_id));
    },
    'export-ready': async ({ request_id }) => {
      const { status, account_id } = await requests.get(request_id);
      // It may have been downloaded, or erased.
      if (status !== 'ready') return;
      const { email } = await accounts.get(account_id);
      const mail = templates.exportReady(email, `${publicUrl()}/account/data`);
      await mailer.send({ ...mail, id: exportReadyId(request_id) });
    },
    erasure: async ({ request_id }) => {
      await privacy.erase(request_id, 'nightly batch');
    },
    // `npm run account -- erase --ready` does the same at once.
    erase: async () => {
      for (const { request_id } of await privacy.listErasable())
        await jobs.add('erasure', { request_id }, `erasure-${request_id}`);
    },
    // Queues mails about changes, issues invoices, deletes expired exports, and queues jobs that were lost when a process died
    // between a change and its job.
    sweep: async () => {
      await audit.recoverPending();
      await notices.queueNew();
      await emailChanges.queueUntold();
      await privacy.deleteExpired();
      for (const { request_id } of await privacy.listUnprepared())
        await jobs.add('prepare', { request_id }, prepareJobId(request_id));
      for await (const account_id of alerts.findCrossed())
        await jobs.add('low-balance', { account_id }, await lowBalanceId(account_id));
      for await (const { account_id, untold } of webhooks.events.findPending()) {
        await webhooks.events.dispatch(account_id);
        for (const { endpoint_id, disabled_at_ms } of untold) {
          const id = `webhook-disabled-${endpoint_id}-${disabled_at_ms}`;
          await jobs.add('webhook-disabled', { account_id, endpoint_id }, id);
        }
      }
      await queueAlerts(dependencies);
      await accounts.orders.invoices.sweep();
    },
  };
}
