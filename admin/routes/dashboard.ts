/** The first page: what is wrong, what runs, and how today compares. */
import type { FastifyInstance } from 'fastify';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { barChart, type Chart } from '../../gateway/pages/shared/chart.ts';
import type { AdminArea } from '../context.ts';
import { allFreshness, type ProviderFreshness } from '../providers.ts';
import type { Reconciliation } from '../reconcile/reading.ts';
import { type RunFacts, runFacts } from '../run-facts.ts';
import { type SnapshotFacts, snapshotFacts } from '../snapshot-facts.ts';
import { madePerDay, totalUsage } from '../usage-totals.ts';

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
  snapshot: SnapshotFacts | null;
  providers: ProviderFreshness[];
  /** Under way now. */
  runs: RunFacts[];
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

  async function underWay(): Promise<RunFacts[]> {
    const { runs } = await area.runs.list({ limit: RUNS_LOOKED_AT });
    return runs.filter(({ status }) => status === 'running').map((run) => runFacts(run, now()));
  }

  scope.get('/', async (_request, reply) => {
    const [usage, accounts, orders, reconciliation, open] = await Promise.all([
      totalUsage(redis, now(), DAYS),
      madePerDay(redis, redisKeys.accounts, now(), DAYS),
      madePerDay(redis, redisKeys.orders, now(), DAYS),
      reconciled(),
      requests.listOpen(),
    ]);
    const daily = (name: 'requests' | 'credits' | 'errors') =>
      usage.daily.map((day) => ({ label: day.date, value: day[name] }));
    return view(reply, 'Dashboard', {
      reconciliation,
      disagreeing: [
        ...new Set(reconciliation?.disagreements.map(({ email, account_id }) => email || account_id)),
      ].slice(0, NAMED),
      openRequests: open.length,
      snapshot: snapshotFacts(snapshots.current(), now()),
      providers: await allFreshness(await area.providers(), area.runs, now()),
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
