/** Jobs that tell account holders of spending and of changed indicators. */
import type { AccountStore } from '../../accounts/accounts.ts';
import type { JobHandlers, JobProducer } from '../jobs/queue.ts';
import { indicatorsChanged, spendingAbove } from '../mail/alert-templates.ts';
import type { Mailer } from '../mail/mailer.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { ChangeAlerts } from './change-alerts.ts';
import { PERIODS, type SpendingAlerts } from './spending-alerts.ts';

interface AlertJobDependencies {
  accounts: AccountStore;
  spendingAlerts: SpendingAlerts;
  changeAlerts: ChangeAlerts;
  webhooks: Webhooks;
  jobs: JobProducer;
  mailer: Mailer;
  publicUrl: () => string;
}

/** Another worker may have told since a job was queued, so each looks again. */
export function alertHandlers({
  accounts,
  spendingAlerts,
  changeAlerts,
  webhooks,
  mailer,
  publicUrl,
}: AlertJobDependencies): Pick<JobHandlers, 'spending' | 'indicators-changed'> {
  const link = (): string => `${publicUrl()}/account/alerts`;
  return {
    spending: async ({ account_id }) => {
      const passed = await spendingAlerts.passed(account_id);
      if (passed === null) return;
      const { window, above, per, spent } = passed;
      const { email, state } = await accounts.get(account_id);
      if (state !== 'closed') {
        const since = new Date(window * PERIODS[per]).toISOString();
        const data = { spent, threshold: above, per, since };
        // The threshold may be raised within the hour or day, and be passed again.
        const id = `${per}-${window}-${above}`;
        await webhooks.events.emit(account_id, 'spending.above', id, data);
        const mail = spendingAbove(email, link(), data);
        await mailer.send({ ...mail, id: `spending-${account_id}-${id}` });
      }
      await spendingAlerts.markTold(account_id, passed);
    },
    'indicators-changed': async ({ account_id, edition }) => {
      const digest = await changeAlerts.digest(account_id, edition);
      if (digest === null) return;
      const { email, state } = await accounts.get(account_id);
      if (state !== 'closed') {
        await webhooks.events.emit(account_id, 'indicators.changed', edition, digest);
        const id = `changes-${account_id}-${edition}`;
        await mailer.send({ ...indicatorsChanged(email, link(), digest), id });
      }
      await changeAlerts.markTold(account_id, edition);
    },
  };
}

/** Queues a job for each account that is to be told; one that waits already is not queued again. */
export async function queueAlerts({
  spendingAlerts,
  changeAlerts,
  jobs,
}: AlertJobDependencies): Promise<void> {
  for await (const { account_id, window } of spendingAlerts.findPassed())
    await jobs.add('spending', { account_id }, `spending-${account_id}-${window}`);
  for await (const { account_id, edition } of changeAlerts.findConcerned()) {
    const id = `indicators-changed-${account_id}-${edition}`;
    await jobs.add('indicators-changed', { account_id, edition }, id);
  }
}
