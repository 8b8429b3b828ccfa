/** The curated data with what operators decided about providers and licences. */
import type { Curated } from '../../../data/curated/curated.ts';
import type { IndicatorOverlay } from '../../../data/schema/curated.ts';
import type { LicenceDecision, OperatorDecisions } from '../../../data/schema/operator-changes.ts';

/**
 * Decisions come before curated settings. They cannot publish what the provider's own definition withholds, and what was
 * deleted because law demands it stays away, too; see `withoutWithheld`, which is applied after this.
 */
export function withDecisions(curated: Curated, { providers, licences }: OperatorDecisions): Curated {
  if (providers.size === 0 && licences.size === 0) return curated;
  const decided = [...curated.providers].map(([id, definition]) => {
    const { enabled = definition.enabled } = providers.get(id) ?? {};
    return [id, { ...definition, enabled }] as const;
  });
  const refused = [...licences].flatMap(([id, { publish }]) => (publish === 'withhold' ? [id] : []));
  return {
    ...curated,
    providers: new Map(decided),
    refused: new Set(refused),
    overlay: (provider, entry) => {
      const decision = licences.get(`${provider}.${entry.slug}`);
      return { ...curated.overlay(provider, entry), ...(decision && settingsOf(decision)) };
    },
  };
}

function settingsOf(decision: LicenceDecision): IndicatorOverlay {
  const { reason: licence_reason } = decision;
  if (decision.publish === 'withhold') return { redistributable: false, licence_reason };
  const { publish: access_tier, licence, licence_url, attribution } = decision;
  return {
    ...{ redistributable: true, access_tier, licence, licence_url: licence_url ?? undefined, licence_reason },
    ...(attribution !== null && { attribution }),
  };
}
