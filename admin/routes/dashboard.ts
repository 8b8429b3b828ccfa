/** The first page: what is wrong, what runs, and how today compares. */
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
/** The dashboard shows a reconciliation of the last minutes, and does not wait long for a new one. */
const RECONCILED_FOR_MS = 600_000;
const PATIENCE_MS = 500;
const NAMED = 5;
const RUNS_LOOKED_AT = 50;

interface DashboardPage {
  reconciliation: Reconciliation | null;
  /** Accounts that disagree, the first few. */
  disagreeing: string[];
  openRequests: number;
  snapshot: SnapshotSummary | null;
  providers: ProviderFreshness[];
  /** Under way now. */
  runs: RunSummary[];
  charts: Chart[];
}

export function dashboardRoutes(scope: FastifyInstance, area: AdminArea): void {
  const { redis, now, reconciler, requests, snapshots } = area;
  const view = area.view<DashboardPage>('dashboard.njk');

  async function reconciled(): Promise<Reconciliation | null> {
    const age_ms = now() - (reconciler.last?.finished_at_ms ?? 0);
    if (age_ms > RECONCILED_FOR_MS) await reconciler.refresh(PATIENCE_MS);
    return reconciler.last;
  }

  async function underWay(): Promise<RunSummary[]> {
    const { runs } = await area.runs.list({ limit: RUNS_LOOKED_AT });
    return runs.filter(({ status }) => status === 'running').map((run) => summariseRun(run, now()));
  }

  scope.get('/', async (_request, reply) => {
    const [usage, accounts, orders, reconciliation, open] = await Promise.all([
      readTotalUsage(redis, now(), DAYS),
      countPerDay(redis, redisKeys.accounts, now(), DAYS),
      countPerDay(redis, redisKeys.orders, now(), DAYS),
      reconciled(),
      requests.listOpen(),
    ]);
    const daily = (name: 'requests' | 'credits' | 'errors') =>
      usage.daily.map((day) => ({ label: day.date, value: day[name] }));
    return view(reply, 'Dashboard', {
      reconciliation,
      disagreeing: [
        ...new Set(reconciliation?.discrepancies.map(({ email, account_id }) => email || account_id)),
      ].slice(0, NAMED),
      openRequests: open.length,
      snapshot: summariseSnapshot(snapshots.current(), now()),
      providers: await listProviderFreshness(await area.providers(), area.runs, now()),
      runs: await underWay(),
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
