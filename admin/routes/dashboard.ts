/** The operator area's first page: what needs attention, running jobs, and today's traffic beside the last 30 days. */
import type { FastifyInstance } from 'fastify';
import { SNAPSHOT_SUBJECT } from '../../data/schema/jobs.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { barChart, type Chart } from '../../gateway/pages/shared/chart.ts';
import type { AttentionItem } from '../attention/item.ts';
import { CHECKED, needsAttention } from '../attention/needs-attention.ts';
import type { AdminArea } from '../context.ts';
import { listProviderRuns, type ProviderFreshness } from '../provider-freshness.ts';
import type { Reconciliation } from '../reconcile/reconciler.ts';
import { type SnapshotSummary, summariseSnapshot } from '../snapshots.ts';
import { type RunSummary, summariseRun } from './runs.ts';
import { countPerDay, readTotalUsage } from './usage.ts';

const DAYS = 30;
/** An older reconciliation is repeated. */
const MAX_RECONCILIATION_AGE_MS = 600_000;
const RECONCILE_WAIT_MS = 500;
const MAX_RUNS = 50;

interface DashboardPage {
  /** Worst first. */
  attention: AttentionItem[];
  /** What was looked for, in the plural. */
  checked: readonly string[];
  reconciliation: Reconciliation | null;
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
    const now_ms = now();
    const [usage, accounts, orders, reconciliation, open, providers, builds] = await Promise.all([
      readTotalUsage(redis, now(), DAYS),
      countPerDay(redis, redisKeys.accounts, now(), DAYS),
      countPerDay(redis, redisKeys.orders, now(), DAYS),
      recentReconciliation(),
      requests.listOpen(),
      listProviderRuns(await area.providers(), area.runs, now_ms),
      area.runs.list({ subject: SNAPSHOT_SUBJECT, limit: MAX_RUNS }),
    ]);
    const daily = (name: 'requests' | 'credits' | 'errors') =>
      usage.daily.map((day) => ({ label: day.date, value: day[name] }));
    return view(reply, 'Dashboard', {
      attention: await needsAttention({ area, now_ms, providers, builds: builds.runs, reconciliation }),
      checked: CHECKED,
      reconciliation,
      openRequests: open.length,
      snapshot: summariseSnapshot(snapshots.current(), now()),
      providers: providers.map(({ freshness }) => freshness),
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
