/** Reads what the sources of the list "Needs attention" look at. */
import { SNAPSHOT_SUBJECT } from '../../data/schema/jobs.ts';
import type { AdminArea } from '../context.ts';
import { listProviderRuns } from '../provider-freshness.ts';
import type { Reconciliation } from '../reconcile/reconciler.ts';
import type { AttentionContext } from './item.ts';

const MAX_BUILDS = 50;

/** @param wait_ms for a reconciliation, which is repeated where the last one is `max_age_ms` old */
export async function readAttentionContext(
  area: AdminArea,
  max_age_ms: number,
  wait_ms: number,
): Promise<AttentionContext> {
  const now_ms = area.now();
  const [reconciliation, providers, { runs: builds }] = await Promise.all([
    recentReconciliation(area, max_age_ms, wait_ms),
    listProviderRuns(await area.providers(), area.runs, now_ms),
    area.runs.list({ subject: SNAPSHOT_SUBJECT, limit: MAX_BUILDS }),
  ]);
  return { area, now_ms, providers, builds, reconciliation };
}

async function recentReconciliation(
  { reconciler, now }: AdminArea,
  max_age_ms: number,
  wait_ms: number,
): Promise<Reconciliation | null> {
  const age_ms = now() - (reconciler.last?.finished_at_ms ?? 0);
  if (age_ms >= max_age_ms) await reconciler.refresh(wait_ms);
  return reconciler.last;
}
