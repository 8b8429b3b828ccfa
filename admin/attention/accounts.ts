/** What accounts need attention for: books, jobs given up, privacy requests, invoices. */
import { DAY_MS } from '../../data/schema/redis-keys.ts';
import type { GivenUpJob } from '../../gateway/commerce/notifications/notifications.ts';
import { counted } from '../../gateway/commerce/people/people.ts';
import type { OrderRecord } from '../../gateway/commerce/store/store.ts';
import type { AdminArea } from '../context.ts';
import { describeGivenUp } from '../routes/given-up-jobs.ts';
import { type AttentionItem, type AttentionSource, listNames, type Severity, sentence } from './item.ts';

/** Items of a kind that are listed one by one. */
const MAX_SHOWN = 10;

/**
 * The oldest items, and one that stands for the rest.
 * @param items oldest first
 */
function capped(
  items: readonly AttentionItem[],
  limit: number,
  rest: (count: number) => string,
): AttentionItem[] {
  const [next] = items.slice(limit);
  const shown = items.slice(0, limit);
  return next ? [...shown, { ...next, what: rest(items.length - limit) }] : shown;
}

/** Books that disagree: faults of the archive and of the register of invoices, and accounts that do not reconcile. */
export const discrepancies: AttentionSource = {
  finds: 'books that disagree',
  conditions: 'books',
  isComplete: ({ reconciliation }) => reconciliation !== null,
  find({ area, reconciliation }) {
    const item = (condition: string, what: string, since_ms: number, action = 'See the reconciliation') =>
      ({ severity: 'critical', path: '/admin/reconcile', condition, what, since_ms, action }) as const;
    const { failed_at_ms } = area.reconciler;
    const items: AttentionItem[] = [];
    if (failed_at_ms !== null) {
      const what = 'The books cannot be compared. The service log says why.';
      items.push(item('comparison', what, failed_at_ms, 'Compare them again'));
    }
    if (reconciliation === null) return items;
    const { problems, invoice_problems, discrepancies: found, finished_at_ms } = reconciliation;
    if (problems.length > 0) {
      const others = problems.length > 1 ? ` and ${problems.length - 1} more` : '';
      items.push(item('archive', `The archive has problems: ${problems[0]}${others}.`, finished_at_ms));
    }
    if (invoice_problems.length > 0) {
      const what = `The invoices have problems: ${invoice_problems.join('; ')}.`;
      items.push(item('invoices', what, finished_at_ms));
    }
    if (found.length > 0) {
      const emails = [...new Set(found.map(({ email, account_id }) => email || account_id))];
      const starts = found.flatMap(({ since_ms }) => (since_ms === null ? [] : [since_ms]));
      const count = counted(found.length, 'discrepancy', 'discrepancies');
      const since_ms = starts.length === 0 ? finished_at_ms : Math.min(...starts);
      items.push(item('accounts', `Accounts do not reconcile: ${count} (${listNames(emails)}).`, since_ms));
    }
    return items;
  },
};

/** Account jobs that failed five times: mails, exports and erasures. */
export const givenUpJobs: AttentionSource = {
  finds: 'account jobs given up',
  conditions: 'given-up-job',
  async find({ area }) {
    // The oldest: while further ones are given up, a condition among the newest would seem to end.
    const jobs = (await area.givenUpJobs.list()).reverse();
    const byKind = [...Map.groupBy(jobs, ({ name }) => name).values()];
    // Some of each kind, so that none hides another.
    const shown = byKind.flatMap((some) => some.slice(0, MAX_SHOWN));
    const rest = byKind
      .flatMap((some) => some.slice(MAX_SHOWN))
      // What stands for the rest has the condition of the first, and undelivered alerts have none.
      .sort((a, b) => Number(isAlert(a)) - Number(isAlert(b)));
    const more = `${counted(rest.length, 'more job was', 'more jobs were')} given up.`;
    return capped([...shown, ...rest].map(describeJob), shown.length, () => more);
  },
};

const isAlert = ({ name }: GivenUpJob): boolean => name === 'operator.alert';

function describeJob(job: GivenUpJob): AttentionItem {
  const { id, account_id, attempts, reason, failed_at_ms } = job;
  const whose = account_id === null ? '' : ` for ${account_id}`;
  return {
    severity: 'warning',
    what: sentence(
      `${describeGivenUp(job)}${whose} was given up after ${counted(attempts, 'attempt', 'attempts')}: ${reason}`,
    ),
    since_ms: failed_at_ms,
    path: '/admin/runs#given-up',
    action: actionOf(job),
    // An alert about an alert that could not be delivered would not be delivered either, and so on.
    ...(!isAlert(job) && { condition: id }),
  };
}

function actionOf({ canRetry, canDismiss }: GivenUpJob): string {
  if (!canRetry) return 'Dismiss it';
  return canDismiss ? 'Retry or dismiss it' : 'Retry it';
}

const CRITICAL_DAYS = 25;
const WARNING_DAYS = 7;

function severityOf(age_days: number): Severity {
  if (age_days >= CRITICAL_DAYS) return 'critical';
  return age_days >= WARNING_DAYS ? 'warning' : 'notice';
}

/** Open privacy requests, more urgent with age: the law gives a month. */
export const privacyRequests: AttentionSource = {
  finds: 'open privacy requests',
  async find({ area, now_ms }) {
    const open = await area.requests.listOpen();
    const items = open.map(({ kind, account_id, created_at_ms }): AttentionItem => {
      const age_days = Math.floor((now_ms - created_at_ms) / DAY_MS);
      return {
        severity: severityOf(age_days),
        what: `The ${kind} request of ${account_id} has been open for ${counted(age_days, 'day', 'days')}.`,
        since_ms: created_at_ms,
        path: '/admin/gdpr',
        action: 'Carry it out',
      };
    });
    return capped(
      items,
      MAX_SHOWN,
      (rest) => `${counted(rest, 'more request is', 'more requests are')} open.`,
    );
  },
};

const MAX_READ = 1_000;

/** Orders by invoice that nobody has marked as paid, failed or cancelled. */
export const openInvoices: AttentionSource = {
  finds: 'open invoices',
  async find({ area, now_ms }) {
    const pending = await area.accounts.orders.listAll({ state: 'pending', limit: MAX_READ });
    const orders = pending
      .filter(({ payment }) => payment === 'invoice')
      .sort((a, b) => a.created_at_ms - b.created_at_ms);
    const items = await Promise.all(orders.map((order) => invoiceItems(area, order, now_ms)));
    return capped(
      items.flat(),
      MAX_SHOWN,
      (rest) => `${counted(rest, 'more invoice is', 'more invoices are')} open.`,
    );
  },
};

/** None for an order whose invoice is not issued yet. */
async function invoiceItems(
  { accounts }: AdminArea,
  order: OrderRecord,
  now_ms: number,
): Promise<AttentionItem[]> {
  const invoice = (await accounts.orders.invoices.issuedOf(order.order_id)).at(-1);
  if (!invoice) return [];
  const isOverdue = invoice.due_at_ms !== null && now_ms > invoice.due_at_ms;
  const amount = `${(order.price_minor / 100).toFixed(2)} ${order.currency}`;
  return [
    {
      severity: isOverdue ? 'warning' : 'notice',
      what: `Invoice ${invoice.number} over ${amount} is ${isOverdue ? 'overdue' : 'open'}.`,
      since_ms: order.created_at_ms,
      path: '/admin/orders?status=pending',
      action: 'Mark it paid or cancel it',
    },
  ];
}
