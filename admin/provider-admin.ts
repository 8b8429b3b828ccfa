/** Providers with what operators decided about them, and whether the served snapshot shows it. */
import type { RunStore } from '../data/runtime/run-store.ts';
import { SNAPSHOT_SUBJECT } from '../data/schema/jobs.ts';
import type { ProviderDecision } from '../data/schema/operator-changes.ts';
import type { AdminArea } from './context.ts';
import { listProviderRuns } from './provider-freshness.ts';
import type { ServedSnapshot } from './snapshots.ts';

const RECENT_BUILDS = 20;

export type AdminProvider = Awaited<ReturnType<typeof listProviders>>[number];

/** All providers, switched off ones included, in the order of ids. */
export async function listProviders(
  area: Pick<AdminArea, 'decisions' | 'runs' | 'snapshots' | 'now' | 'providers'>,
) {
  const [all, decided, built_ms] = await Promise.all([
    listProviderRuns(area, () => true),
    area.decisions.providers.all(),
    lastBuildStart(area.runs),
  ]);
  const served = servedCounts(area.snapshots.current());
  return all.map(({ definition, runs, freshness }) => {
    const { id, name, enabled } = definition;
    const decision = decided.get(id) ?? null;
    const indicators = served.get(id) ?? 0;
    return {
      ...{ id, name, definition, enabled, decision, runs, freshness: freshness.state },
      /** Number of indicators in the served snapshot. */
      indicators,
      /** Whether the served snapshot does not show the decision yet. */
      isPending: decision !== null && isPending(decision, indicators, built_ms),
      last_ok_ms: freshness.last_ok_ms,
      rows: freshness.rows,
      newest_year: freshness.newest_year,
    };
  });
}

/** A provider that is switched on may have nothing that can be published. */
const isPending = (
  { enabled, decided_at_ms }: ProviderDecision,
  indicators: number,
  built_ms: number,
): boolean => (enabled ? indicators === 0 && built_ms < wholeSeconds(decided_at_ms) : indicators > 0);

/** As the times of runs are. */
const wholeSeconds = (time_ms: number): number => Math.floor(time_ms / 1_000) * 1_000;

/** When the last build that succeeded started; 0 for none. */
async function lastBuildStart(store: RunStore): Promise<number> {
  const { runs } = await store.list({ subject: SNAPSHOT_SUBJECT, limit: RECENT_BUILDS });
  const built = runs.find(({ status }) => status === 'succeeded');
  return built ? Date.parse(built.started_at) : 0;
}

function servedCounts(snapshot: ServedSnapshot | null): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { record } of snapshot?.catalogue.indicators.values() ?? [])
    counts.set(record.provider.id, (counts.get(record.provider.id) ?? 0) + 1);
  return counts;
}
