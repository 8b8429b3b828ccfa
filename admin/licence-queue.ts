/**
 * Series that the last build withheld for their licence, and those about whose licence operators decided. A decision
 * publishes a series under a licence, or confirms that it is withheld; see `data/schema/operator-changes.ts`.
 */

import type { ProviderDefinition } from '../data/schema/curated.ts';
import type { ExcludedIndicator } from '../data/schema/jobs.ts';
import type { LicenceDecision } from '../data/schema/operator-changes.ts';
import type { IndicatorRecord } from '../data/schema/records.ts';
import type { AdminArea } from './context.ts';

export const LICENCE_STATES = ['undecided', 'open', 'display', 'withhold'] as const;

export type LicensedSeries = ReturnType<typeof seriesOf>;

/** In the order of ids. */
export async function listLicensedSeries(
  area: Pick<AdminArea, 'decisions' | 'indicators' | 'snapshots' | 'providers'>,
): Promise<LicensedSeries[]> {
  const [excluded, decided, providers] = await Promise.all([
    area.indicators.excluded(),
    area.decisions.licences.all(),
    area.providers(),
  ]);
  const left = new Map(excluded.map((one) => [one.id, one]));
  const withheld = excluded.filter(({ why }) => why === 'not redistributable').map(({ id }) => id);
  const served = area.snapshots.current()?.catalogue.indicators;
  const ids = [...new Set([...withheld, ...decided.keys()])].sort();
  return ids.flatMap((id) => {
    const provider = providers.get(id.slice(0, id.indexOf('.')));
    const facts = { left: left.get(id), record: served?.get(id)?.record ?? null };
    return provider ? [seriesOf(id, provider, decided.get(id) ?? null, facts)] : [];
  });
}

function seriesOf(
  id: string,
  provider: ProviderDefinition,
  decision: LicenceDecision | null,
  { left, record }: { left: ExcludedIndicator | undefined; record: IndicatorRecord | null },
) {
  return {
    ...{ id, provider, decision },
    name: record?.name ?? left?.name ?? id,
    unit: record?.unit ?? left?.unit ?? '',
    /** Whose terms or which reason withheld it in the last build; empty when that published it. */
    withheldBy: record ? '' : (left?.detail ?? left?.why ?? ''),
    state: decision?.publish ?? ('undecided' as const),
    /** Whether the served snapshot does not show the decision yet. */
    isPending: decision !== null && isPending(decision, record, left),
    /** The widest access that its provider allows; null when that withholds everything. */
    widest: provider.redistributable ? provider.access_tier : null,
  };
}

/** A build that leaves the series out for another reason obeys a decision to publish it, too. */
function isPending(
  decision: LicenceDecision,
  record: IndicatorRecord | null,
  left: ExcludedIndicator | undefined,
): boolean {
  if (decision.publish === 'withhold') return record !== null;
  if (record === null) return left === undefined || left.why === 'not redistributable';
  return record.licence !== decision.licence || record.access_tier !== decision.publish;
}
