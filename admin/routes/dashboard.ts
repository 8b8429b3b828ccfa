/** The operator area's first page: alarms, running jobs, and today's traffic compared with the last 30 days. */
import type { FastifyInstance } from 'fastify';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { barChart, type Chart } from '../../gateway/pages/shared/chart.ts';
import type { AdminArea } from '../context.ts';
import { listProviderFreshness, type ProviderFreshness } from '../provider-freshness.ts';
import type { Reconciliation } from '../reconcile/reconciler.ts';
import { type SnapshotSummary, summariseSnapshot } from '../snapshots.ts';
import { type RunSummary, summariseRun } from './runs.ts';
import { countPerDay, readTotalUsage } from './usage.ts';

const DAYS = 30;
/** An older reconciliation is repeated. */
const MAX_RECONCILIATION_AGE_MS = 600_000;
const RECONCILE_WAIT_MS = 500;
const MAX_AFFECTED = 5;
const MAX_RUNS = 50;

interface DashboardPage {
  reconciliation: Reconciliation | null;
  /** The first few accounts with discrepancies. */
  affected: string[];
  openRequests: number;
  snapshot: SnapshotSummary | null;
  providers: ProviderFreshness[];
  /** Running now. */
  runs: RunSummary[];
  charts: Chart[];
}

export function dashboardRoutes(scope: FastifyInstance, area: AdminArea): void {
  const { redis, now, reconciler, requests, snapshots } = area;
  const view = area.view<DashboardPage>('dashboard.njk');

  async function recentReconciliation(): Promise<Reconciliation | null> {
    const age_ms = now() - (reconciler.last?.finished_at_ms ?? 0);
    if (age_ms > MAX_RECONCILIATION_AGE_MS) await reconciler.refresh(RECONCILE_WAIT_MS);
    return reconciler.last;
  }

  async function runningRuns(): Promise<RunSummary[]> {
    const { runs } = await area.runs.list({ limit: MAX_RUNS });
    return runs.filter(({ status }) => status === 'running').map((run) => summariseRun(run, now()));
  }

  scope.get('/', async (_request, reply) => {
    const [usage, accounts, orders, reconciliation, open] = await Promise.all([
      readTotalUsage(redis, now(), DAYS),
      countPerDay(redis, redisKeys.accounts, now(), DAYS),
      countPerDay(redis, redisKeys.orders, now(), DAYS),
      recentReconciliation(),
      requests.listOpen(),
    ]);
    const daily = (name: 'requests' | 'credits' | 'errors') =>
      usage.daily.map((day) => ({ label: day.date, value: day[name] }));
    const affected = new Set(
      reconciliation?.discrepancies.map(({ email, account_id }) => email || account_id),
    );
    return view(reply, 'Dashboard', {
      reconciliation,
      affected: [...affected].slice(0, MAX_AFFECTED),
      openRequests: open.length,
      snapshot: summariseSnapshot(snapshots.current(), now()),
      providers: await listProviderFreshness(await area.providers(), area.runs, now()),
      runs: await runningRuns(),
      charts: [
        barChart('requests', 'Requests', daily('requests')),
        barChart('credits', 'Credits', daily('credits')),
        barChart('errors', 'Errors', daily('errors')),
        barChart('accounts', 'New accounts', accounts),
        barChart('orders', 'Orders', orders),
      ],
    });
  });
}
