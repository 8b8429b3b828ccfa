/**
 * The terms of indicators that earlier snapshots have and upstream no longer has. Their figures stay in those snapshots;
 * today's decisions govern them, too: the narrower of the terms that they had last and of their provider's terms today.
 */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Curated } from '../../data/curated/curated.ts';
import type { IndicatorAlias, ProviderDefinition } from '../../data/schema/curated.ts';
import type { Overrides } from '../../data/schema/overrides.ts';
import {
  providerCatalogue,
  providerOf,
  type VanishedIndicator,
  vanishedIndicator,
} from '../../data/schema/snapshot.ts';
import type { Published, SnapshotStorage } from '../publish/snapshot-storage.ts';
import type { SnapshotPlan } from './plan-snapshot.ts';

/** What a snapshot publishes, and what must not be published. */
type Planned = Pick<SnapshotPlan, 'providers' | 'withheld'> & { indicators: readonly { id: string }[] };

/** By provider; those without any are absent. */
export async function vanishedIndicators(
  plan: Planned,
  { storage, base }: { storage: SnapshotStorage; base: Published | null },
  curated: Curated,
  overrides: Overrides,
): Promise<Map<string, VanishedIndicator[]>> {
  if (base === null) return new Map();
  const known = new Set([...plan.indicators.map(({ id }) => id), ...plan.withheld]);
  const publicProviders = new Map(plan.providers.map(({ definition }) => [definition.id, definition]));
  const withheld = new Set(
    curated.decisions.filter(({ decision }) => decision === 'withhold').map(({ subject }) => subject),
  );
  for (const { old, new: now } of curated.aliases) if (plan.withheld.includes(now)) withheld.add(old);
  const governed = (await termsBefore(storage, base)).flatMap((terms) => {
    const definition = publicProviders.get(providerOf(terms.id));
    const isDisabled =
      overrides.get(terms.id)?.enabled === false || withheld.has(terms.id) || curated.withheld.has(terms.id);
    return definition === undefined || known.has(terms.id) || isDisabled ? [] : [narrower(terms, definition)];
  });
  return Map.groupBy(
    governed.sort((a, b) => (a.id < b.id ? -1 : 1)),
    ({ id }) => providerOf(id),
  );
}

/**
 * Terms under which the base edition publishes its indicators, and those that had vanished before. What vanished before the
 * first publication stands in the editions that were made of the lake afterwards.
 */
async function termsBefore(storage: SnapshotStorage, base: Published): Promise<VanishedIndicator[]> {
  const { editions } = await storage.log();
  const backfilled = editions.findLast((entry) => entry.backfilled);
  const all = [
    ...(await termsOf(storage, base)),
    ...(backfilled ? await termsOf(storage, await storage.open(backfilled.edition)) : []),
  ];
  return [...Map.groupBy(all, ({ id }) => id).values()].flatMap(([newest]) => newest ?? []);
}

async function termsOf(storage: SnapshotStorage, { kept }: Published): Promise<VanishedIndicator[]> {
  const lists = Object.entries(kept).filter(([name]) => /^(catalogue|terms)\//.test(name));
  const terms = await Promise.all(
    lists.map(async ([name, ref]) => {
      const list = JSON.parse(await readFile(storage.pathOf(ref), 'utf8'));
      return name.startsWith('terms/')
        ? z.array(vanishedIndicator).parse(list)
        : providerCatalogue.parse(list).map(({ record }) => vanishedIndicator.parse(record));
    }),
  );
  return terms.flat();
}

const narrower = (terms: VanishedIndicator, definition: ProviderDefinition): VanishedIndicator => {
  const { access_tier, licence, licence_url, attribution } = definition;
  const isNarrowed = access_tier === 'display' && terms.access_tier === 'open';
  return isNarrowed ? { id: terms.id, access_tier, licence, licence_url, attribution } : terms;
};

/** Former ids that readers may know: an alias that names a withheld series is left out. */
export function publicAliases(plan: SnapshotPlan, { aliases }: Curated): IndicatorAlias[] {
  const withheld = new Set(plan.withheld);
  return aliases.filter((alias) => !withheld.has(alias.old) && !withheld.has(alias.new));
}
