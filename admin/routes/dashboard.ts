/** The operator area's first page: money, what needs attention or is not set up, running jobs, and traffic of 30 days. */
import type { FastifyInstance } from 'fastify';
import { isProduction } from '../../data/runtime/settings.ts';
import { DAY_MS, redisKeys } from '../../data/schema/redis-keys.ts';
import { dateText, missingForInvoices, salesTermsOf } from '../../gateway/commerce/orders/orders.ts';
import type { OrderRecord } from '../../gateway/commerce/store/store.ts';
import { PageError } from '../../gateway/web/forms.ts';
import { barChart } from '../../gateway/web/templates.ts';
import { readAttentionContext } from '../attention/item.ts';
import { CHECKED, needsAttention } from '../attention/needs-attention.ts';
import type { AdminArea } from '../context.ts';
import { summariseSnapshot } from '../snapshots.ts';
import { summariseRun } from './runs.ts';
import { countPerDay, readTotalUsage } from './usage.ts';

const DAYS = 30;
/** An older reconciliation is repeated. */
const MAX_RECONCILIATION_AGE_MS = 600_000;
const RECONCILE_WAIT_MS = 500;
const MAX_RUNS = 50;
/** A backup that is older does not count. */
const BACKUP_DAYS = 7;

export function dashboardRoutes(scope: FastifyInstance, area: AdminArea): void {
  const { redis, now, requests, snapshots, operatorAlerts } = area;
  const view = area.view('dashboard.njk');

  scope.get('/', async (_request, reply) => {
    const [usage, accounts, orders, context, open, { runs }, money, setUp] = await Promise.all([
      readTotalUsage(redis, now(), DAYS),
      countPerDay(redis, redisKeys.accounts, now(), DAYS),
      countPerDay(redis, redisKeys.orders, now(), DAYS),
      readAttentionContext(area, MAX_RECONCILIATION_AGE_MS, RECONCILE_WAIT_MS),
      requests.listOpen(),
      area.runs.list({ limit: MAX_RUNS }),
      // What cannot be read must not hide what needs attention, which says so, too.
      summariseMoney(area).catch((error: Error) => {
        area.log.error({ err: error }, 'the orders cannot be read');
        return null;
      }),
      findSetUpWarnings(area),
    ]);
    const daily = (name: 'requests' | 'credits' | 'errors') =>
      usage.daily.map((day) => ({ label: day.date, value: day[name] }));
    return view(reply, 'Dashboard', {
      attention: await needsAttention(context),
      checked: CHECKED,
      money,
      setUp,
      reconciliation: context.reconciliation,
      openRequests: open.length,
      alertTargets: operatorAlerts.targets,
      snapshot: summariseSnapshot(snapshots.current(), now()),
      providers: context.providers.map(({ freshness }) => freshness),
      runs: runs.filter(({ status }) => status === 'running').map((run) => summariseRun(run, now())),
      charts: [
        barChart('requests', 'Requests', daily('requests')),
        barChart('credits', 'Credits', daily('credits')),
        barChart('errors', 'Errors', daily('errors')),
        barChart('accounts', 'New accounts', accounts),
        barChart('orders', 'Orders', orders),
      ],
    });
  });

  scope.post('/alerts/test', async (request, reply) => {
    if (operatorAlerts.targets.length === 0) throw new PageError(409, 'Alerts are off.');
    await request.audited({ action: 'alert.test', subject: 'alerts' }, () =>
      operatorAlerts.sendTest(area.mailJobs),
    );
    return reply.leadTo('/admin/', 'A test alert is on its way.');
  });
}

/** Orders of one kind, with the sum of their prices by currency. */
interface Sum {
  label: string;
  /** The page that lists them. */
  path: string;
  orders: number;
  amounts: { currency: string; minor: number }[];
}

const sum = (label: string, path: string, orders: readonly OrderRecord[]): Sum => ({
  label,
  path,
  orders: orders.length,
  amounts: [...Map.groupBy(orders, ({ currency }) => currency)].map(([currency, some]) => ({
    currency,
    minor: some.reduce((total, { price_minor }) => total + price_minor, 0),
  })),
});

/**
 * What customers owe, what is overdue, and what was paid and paid back of late. Months are those of UTC; an order counts in the
 * month in which it became what it is.
 */
async function summariseMoney({ accounts, now }: Pick<AdminArea, 'accounts' | 'now'>): Promise<Sum[]> {
  const orders = await accounts.orders.listAll({ limit: Number.POSITIVE_INFINITY });
  const owed = orders.filter(({ state, payment }) => state === 'pending' && payment === 'invoice');
  const isLate = await Promise.all(
    owed.map(async ({ order_id }) => {
      const invoice = (await accounts.orders.invoices.issuedOf(order_id)).at(-1);
      return (invoice?.due_at_ms ?? Number.POSITIVE_INFINITY) < now();
    }),
  );
  const thisMonth = dateText(now()).slice(0, 7);
  const lastMonth = dateText(Date.parse(`${thisMonth}-01`) - 1).slice(0, 7);
  const moved = (to: OrderRecord['state'], month: string): OrderRecord[] =>
    orders.filter(({ state, moved_at_ms }) => state === to && dateText(moved_at_ms).startsWith(month));
  const listed = (state: string): string => `/admin/orders?status=${state}`;
  return [
    sum('Owed by invoice', listed('pending'), owed),
    sum(
      'Overdue',
      listed('pending'),
      owed.filter((_, index) => isLate[index]),
    ),
    sum(`Paid in ${thisMonth}`, listed('paid'), moved('paid', thisMonth)),
    sum(`Paid in ${lastMonth}`, listed('paid'), moved('paid', lastMonth)),
    sum(`Paid back in ${thisMonth}`, listed('refunded'), moved('refunded', thisMonth)),
  ];
}

/** What an operator has not set up yet: what customers would miss, and what would hurt later. */
interface SetUpWarning {
  /** A sentence that says what does not work, or is at risk. */
  what: string;
  /** Settings that change it. */
  settings: readonly string[];
  /** The page where it is changed; absent for settings. */
  path?: string;
}

async function findSetUpWarnings(area: AdminArea): Promise<SetUpWarning[]> {
  return [...ordering(area), ...fromSettings(area), ...(await backups(area)), ...(await secondFactors(area))];
}

function ordering({ settings }: AdminArea): SetUpWarning[] {
  const missing = missingForInvoices(salesTermsOf(settings));
  if (missing.length === 0) return [];
  const others = settings.STRIPE_SECRET_KEY === undefined ? 'Customers cannot order.' : 'Cards are taken.';
  const what = `Ordering by invoice is off until the seller and the bank details are set. ${others}`;
  return [{ what, settings: missing }];
}

function fromSettings({ settings }: AdminArea): SetUpWarning[] {
  const { SMTP_URL, PUBLIC_URL, CONTACT_EMAIL, ADMIN_PASSWORD } = settings;
  const checks: [isMissing: boolean, setting: string, what: string][] = [
    [SMTP_URL === undefined, 'SMTP_URL', 'No mail is sent: there is no mail server.'],
    [PUBLIC_URL === undefined, 'PUBLIC_URL', 'Links in mails, citations and payments lead to this machine.'],
    [CONTACT_EMAIL === undefined, 'CONTACT_EMAIL', 'Customers find no address for questions.'],
    [
      !isProduction(settings),
      'NODE_ENV',
      'Development mode: a demo key, passwords and links of mails may be printed to the log.',
    ],
    [
      ADMIN_PASSWORD !== undefined,
      'ADMIN_PASSWORD',
      'The password of the first operator stands in the settings: remove it.',
    ],
  ];
  return checks.flatMap(([isMissing, setting, what]) => (isMissing ? [{ what, settings: [setting] }] : []));
}

async function backups({ redis, now }: AdminArea): Promise<SetUpWarning[]> {
  const finished_at_ms = Number(await redis.get(redisKeys.backedUp));
  if (now() - finished_at_ms <= BACKUP_DAYS * DAY_MS) return [];
  const last = new Date(finished_at_ms).toISOString().slice(0, 10);
  const what = finished_at_ms === 0 ? 'There is no backup.' : `The last backup is of ${last}.`;
  return [{ what: `${what} Run npm run backup.`, settings: [] }];
}

async function secondFactors({ operators, secondFactor, settings }: AdminArea): Promise<SetUpWarning[]> {
  const all = await operators.list();
  const isOn = await Promise.all(all.map(({ email }) => secondFactor.isOn(email)));
  const without = all.filter((_, index) => !isOn[index]).map(({ email }) => email);
  if (without.length === 0) return [];
  const required = settings.ADMIN_SECOND_FACTOR === 'required' ? [] : ['ADMIN_SECOND_FACTOR'];
  const what = `Without a second factor: ${without.join(', ')}.`;
  return [{ what, settings: required, path: '/admin/second-factor' }];
}
