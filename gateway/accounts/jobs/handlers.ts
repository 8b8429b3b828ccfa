/** What a worker does for the account pages. Every handler may be called again for a job that was done before. */

import type { AccountStore } from '../account-store.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Alerts } from '../balance-alerts.ts';
import type { Mailer } from '../mail/mailer.ts';
import * as letters from '../mail/templates.ts';
import type { Onboarding } from '../onboarding.ts';
import type { SubjectRights } from '../privacy/fulfilment.ts';
import type { RequestStore } from '../privacy/requests.ts';
import type { JobHandlers, Jobs } from './queue.ts';

export interface HandlerDependencies {
  accounts: AccountStore;
  alerts: Alerts;
  audit: AuditLog;
  onboarding: Onboarding;
  requests: RequestStore;
  rights: SubjectRights;
  jobs: Jobs;
  mailer: Mailer;
  publicUrl: () => string;
}

export function accountHandlers(to: HandlerDependencies): JobHandlers {
  const { accounts, alerts, audit, onboarding, requests, rights, jobs, mailer, publicUrl } = to;
  return {
    'sign-up': (sign_up) => onboarding.mailSignUp(sign_up),
    reset: ({ email }) => onboarding.mailReset(email),
    'low-balance': async ({ account_id }) => {
      // Queued a moment ago: by now another worker may have told of it.
      const crossings = await alerts.untold(account_id);
      if (crossings === 0) return;
      const [{ email, state, credits }, low_at] = await Promise.all([
        accounts.get(account_id),
        alerts.get(account_id),
      ]);
      if (state !== 'closed' && low_at !== null)
        await mailer.send(
          letters.lowBalance(email, `${publicUrl()}/account/wallet`, credits.balance, low_at),
        );
      await alerts.told(account_id, crossings);
    },
    prepare: async ({ request_id }) => {
      const before = await requests.get(request_id);
      const { kind, status, account_id } = await rights.prepare(request_id);
      if (before.status !== 'pending' || kind !== 'export' || status !== 'ready') return;
      const { email } = await accounts.get(account_id);
      await mailer.send(letters.exportReady(email, `${publicUrl()}/account/data`));
    },
    // Part of the nightly batch; `npm run account -- erase --ready` does the same.
    erase: async () => {
      for (const { request_id } of await rights.erasable()) await rights.erase(request_id, 'nightly batch');
    },
    // What was lost with a process between a change and its job is found here.
    sweep: async () => {
      await audit.settle();
      for (const { request_id } of await rights.unprepared())
        await jobs.add('prepare', { request_id }, `prepare-${request_id}`);
      for await (const account_id of alerts.crossed())
        await jobs.add('low-balance', { account_id }, `low-balance-${account_id}`);
    },
  };
}
