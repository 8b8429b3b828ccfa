/** The operator area's first page: money, what needs attention or is not set up, running jobs, and traffic of 30 days. */
import type { FastifyInstance } from 'fastify';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { PageError } from '../../gateway/web/forms.ts';
import { barChart } from '../../gateway/web/templates.ts';
import { readAttentionContext } from '../attention/item.ts';
import { CHECKED, needsAttention } from '../attention/needs-attention.ts';
import type { AdminArea } from '../context.ts';
import { summariseMoney } from '../money.ts';
import { findSetUpWarnings } from '../set-up.ts';
import { summariseSnapshot } from '../snapshots.ts';
import { summariseRun } from './runs.ts';
import { countPerDay, readTotalUsage } from './usage.ts';

const DAYS = 30;
/** An older reconciliation is repeated. */
const MAX_RECONCILIATION_AGE_MS = 600_000;
const RECONCILE_WAIT_MS = 500;
const MAX_RUNS = 50;

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
