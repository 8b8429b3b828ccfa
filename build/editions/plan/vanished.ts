/**
 * The terms of indicators that earlier snapshots have and upstream no longer has. Their figures stay in those snapshots;
 * today's decisions govern them, too: the narrower of the terms that they had last and of their provider's terms today.
 */
import { z } from 'zod';
import type { Curated } from '../../../data/curated/curated.ts';
import type { IndicatorAlias, ProviderDefinition } from '../../../data/schema/curated.ts';
import { servedChain } from '../../../data/schema/editions.ts';
import { bareEntry } from '../../../data/schema/lake.ts';
import type { Overrides } from '../../../data/schema/operator-changes.ts';
import {
  type Manifest,
  providerCatalogue,
  providerOf,
  type VanishedIndicator,
  vanishedIndicator,
} from '../../../data/schema/snapshot.ts';
import { CommandError } from '../../runtime/errors.ts';
import type { Published, SnapshotStorage } from '../snapshot-storage.ts';
import type { SnapshotPlan } from './plan-snapshot.ts';

/** What a snapshot publishes, and what must not be published. */
type Planned = Pick<SnapshotPlan, 'providers' | 'withheld'> & { indicators: readonly { id: string }[] };

/** Where the terms of vanished indicators are read. */
interface Past extends Pick<ServedHistory, 'departures'> {
  storage: SnapshotStorage;
  base: Published | null;
}

/** By provider; those without any are absent. */
export async function vanishedIndicators(
  plan: Planned,
  { storage, base, departures }: Past,
  curated: Curated,
  overrides: Overrides,
): Promise<Map<string, VanishedIndicator[]>> {
  if (base === null) return new Map();
  const known = new Set([...plan.indicators.map(({ id }) => id), ...plan.withheld]);
  const publicProviders = new Map(plan.providers.map(({ definition }) => [definition.id, definition]));
  const isShut = shutSeries(plan, curated, overrides);
  const today = new Map(curated.aliases.map(({ old, new: now }) => [old, now]));
  const isGoverned = (id: string): boolean =>
    publicProviders.has(providerOf(id)) && !known.has(id) && !isShut(id) && !isShut(today.get(id) ?? id);
  const governed = await lastTerms({ storage, base, departures }, isGoverned);
  const narrowed = governed.flatMap((terms) => {
    const definition = publicProviders.get(providerOf(terms.id));
    return definition === undefined ? [] : [narrower(terms, definition)];
  });
  const byId = narrowed.sort((a, b) => (a.id < b.id ? -1 : 1));
  return Map.groupBy(byId, ({ id }) => providerOf(id));
}

/**
 * The terms that indicators had last, as the base edition publishes or remembers them. Where it does neither, they are
 * those under which an earlier edition was the last to publish them: no later one remembers an indicator that was
 * disabled meanwhile, or that vanished before the first publication.
 */
async function lastTerms(
  { storage, base, departures }: Past & { base: Published },
  isWanted: (id: string) => boolean,
): Promise<VanishedIndicator[]> {
  const found = new Map((await termsOf(storage, base)).map((terms) => [terms.id, terms]));
  for (const { base: earlier, indicators } of departures) {
    const gone = indicators.filter((id) => isWanted(id) && !found.has(id));
    if (gone.length === 0) continue;
    const terms = await termsOf(storage, await storage.open(earlier));
    for (const one of terms) if (gone.includes(one.id)) found.set(one.id, one);
  }
  return [...found.values()].filter(({ id }) => isWanted(id));
}

/** The terms of all indicators that an edition publishes or remembers. */
async function termsOf(storage: SnapshotStorage, { kept }: Published): Promise<VanishedIndicator[]> {
  const lists = Object.entries(kept).filter(([name]) => /^(catalogue|terms)\//.test(name));
  const terms = await Promise.all(
    lists.map(async ([name, ref]) => {
      const list = JSON.parse(await storage.readText(ref));
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

/** What may not be published today, whether upstream still has it or not. Of a series that vanished only the id is known. */
function shutSeries(
  plan: Pick<Planned, 'withheld'>,
  curated: Curated,
  overrides: Overrides,
): (id: string) => boolean {
  const decided = curated.decisions.filter(({ decision }) => decision === 'withhold');
  const withheld = new Set([...plan.withheld, ...decided.map(({ subject }) => subject)]);
  return (id) => {
    const providerId = providerOf(id);
    // Without a name, which no rule may take for that of the series.
    const entry = { ...bareEntry(id.slice(providerId.length + 1)), name: '' };
    const overlay = curated.providers.has(providerId) ? curated.overlay(providerId, entry) : {};
    const isEnabled = overrides.get(id)?.enabled ?? overlay.enabled ?? true;
    const isRefused = overlay.redistributable === false || curated.refused.has(id);
    return !isEnabled || isRefused || withheld.has(id) || curated.withheld.has(id);
  };
}

/** Former ids that readers may know: an alias that names a series which may not be published is left out. */
export function publicAliases(plan: SnapshotPlan, curated: Curated, overrides: Overrides): IndicatorAlias[] {
  const isShut = shutSeries(plan, curated, overrides);
  return curated.aliases.filter((alias) => !isShut(alias.old) && !isShut(alias.new));
}

/** Indicators of `base` that the edition after it no longer has, under that id. */
export interface Departure {
  base: string;
  indicators: string[];
}

/** What was served up to an edition. Rolled-back editions do not count. */
export interface ServedHistory {
  /** Newest first. */
  departures: readonly Departure[];
  /** The date (UTC) of the oldest edition; null where nothing is served. */
  firstDate: string | null;
}

/** @param served the edition up to which is read; null where nothing is served. */
export async function readServedHistory(
  storage: SnapshotStorage,
  served: string | null,
): Promise<ServedHistory> {
  if (served === null) return { departures: [], firstDate: null };
  const chain = servedChain((await storage.log()).editions, served);
  const departures: Departure[] = [];
  for (const { base, changes, changed } of chain.toReversed()) {
    const hasDepartures = Object.values(changed).some((count) => count.withdrawn + count.renamed > 0);
    if (base === null || changes === null || !hasDepartures) continue;
    const { withdrawn, renamed } = await storage.readChanges(changes);
    departures.push({ base, indicators: [...withdrawn, ...renamed.map(({ from }) => from)] });
  }
  return { departures, firstDate: chain[0]?.published_at.slice(0, 10) ?? null };
}

/** A provider whose definition was deleted takes its history with it: that is asked for. @throws {CommandError} */
export function refuseLostHistory(
  served: Pick<Manifest, 'providers'> | null,
  { providers }: Curated,
  given: readonly string[] = [],
): void {
  const lost = Object.keys(served?.providers ?? {}).find((id) => !providers.has(id) && !given.includes(id));
  if (lost === undefined) return;
  throw new CommandError(
    `${lost} is published and has no definition any more. Without one, its indicators are gone from every edition, the ` +
      `earlier ones too: put providers/${lost}.yaml back, or run materialise --without ${lost}. Nothing is published until then.`,
  );
}
