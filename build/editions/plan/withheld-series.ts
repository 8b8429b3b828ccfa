/**
 * The series of a provider that its licence, its overlay or the terms of their collectors (`collectors.csv`) withhold, so
 * that `ingest` and `materialise` can say so: nothing else of a run tells it.
 */
import type { Curated } from '../../../data/curated/curated.ts';
import type { ProviderDefinition } from '../../../data/schema/curated.ts';
import type { ProviderLake } from '../../lake/lake.ts';
import { termsOf } from './licensing.ts';
import type { SnapshotPlan } from './plan-snapshot.ts';

export interface WithheldSeries {
  provider: string;
  /** All series of the provider. */
  series: number;
  /** Slugs by whose terms or which reason withhold them. */
  by: Record<string, string[]>;
}

/** Lists are cut here. */
const SHOWN = 20;

/** Those of the run that is current. */
export async function readWithheldSeries(
  lake: ProviderLake,
  definition: ProviderDefinition,
  curated: Curated,
): Promise<WithheldSeries> {
  const run = await lake.current();
  const catalogue = run ? await lake.catalogue(run) : [];
  const withheld = catalogue.flatMap((entry) => {
    const { withheldBy } = termsOf(
      definition,
      entry,
      curated.overlay(definition.id, entry),
      curated.collectors,
    );
    return withheldBy === null ? [] : [{ slug: entry.slug, withheldBy }];
  });
  return { provider: definition.id, series: catalogue.length, by: bySource(withheld) };
}

/** Those of all enabled providers in a plan, without providers that have none. */
export function plannedWithheldSeries({ indicators, excluded }: SnapshotPlan): WithheldSeries[] {
  const published = Map.groupBy(indicators, ({ providerId }) => providerId);
  return [...Map.groupBy(excluded, ({ provider }) => provider)].flatMap(([provider, left]) => {
    const withheld = left.flatMap(({ id, why, detail }) =>
      why === 'not redistributable' && detail !== undefined
        ? [{ slug: id.slice(provider.length + 1), withheldBy: detail }]
        : [],
    );
    const series = left.length + (published.get(provider)?.length ?? 0);
    return withheld.length > 0 ? [{ provider, series, by: bySource(withheld) }] : [];
  });
}

function bySource(withheld: readonly { slug: string; withheldBy: string }[]): WithheldSeries['by'] {
  const groups = Map.groupBy(withheld, ({ withheldBy }) => withheldBy);
  return Object.fromEntries([...groups].map(([terms, all]) => [terms, all.map(({ slug }) => slug)]));
}

/** `44 of 50 series are not published: World Health Organization: CC BY-NC-SA 3.0 IGO (44)`; empty when all are. */
export function describeWithheld({ provider, series, by }: WithheldSeries): string[] {
  const groups = Object.entries(by);
  if (groups.length === 0) return [];
  const count = groups.reduce((sum, [, slugs]) => sum + slugs.length, 0);
  const reasons = groups.map(([terms, slugs]) => `${terms} (${slugs.length})`);
  return [`${provider}: ${count} of ${series} series are not published: ${reasons.join('; ')}`];
}

/** The same for one provider, with the series by name and what can be done. */
export function listWithheld(withheld: WithheldSeries): string[] {
  const slugs = Object.values(withheld.by).flat();
  if (slugs.length === 0) return [];
  const more = slugs.length > SHOWN ? ` and ${slugs.length - SHOWN} more` : '';
  return [
    ...describeWithheld(withheld),
    `  withheld: ${slugs.slice(0, SHOWN).join(', ')}${more}`,
    `  to publish them: set \`redistributable: true\` with a \`licence_reason\`, or correct the terms in data/collectors.csv`,
  ];
}
