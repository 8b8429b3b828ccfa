/**
 * Decides under which licence a series is published, and whether it is.
 *
 * The terms of the original collectors follow their figures, by whatever provider they come: the narrowest of its sources
 * decides about a series, unless curated data decide otherwise with a reason (`redistributable: true`). What operators
 * decided, and what is withheld because law demands it, is laid over the curated data first.
 */
import type { Collectors } from '../../../data/curated/collectors.ts';
import type { Curated } from '../../../data/curated/curated.ts';
import type { WithheldRecord } from '../../../data/runtime/withheld.ts';
import type { Collector, IndicatorOverlay, ProviderDefinition } from '../../../data/schema/curated.ts';
import type { CatalogueEntry, NamedSource } from '../../../data/schema/lake.ts';
import type { LicenceDecision, OperatorDecisions } from '../../../data/schema/operator-changes.ts';
import { decisionKey } from '../../../data/schema/quality.ts';
import type { IndicatorRecord, IndicatorSource } from '../../../data/schema/records.ts';

export type Terms = Pick<IndicatorRecord, 'licence' | 'licence_url' | 'access_tier' | 'attribution'> & {
  redistributable: boolean;
  /** Whose terms withhold it, or the curated reason; null when it is redistributable. */
  withheldBy: string | null;
  sources: IndicatorSource[];
};

const WIDTH = { no: 0, display: 1, yes: 2 } as const satisfies Record<Collector['redistributable'], number>;

/** The collector with the narrowest terms; the first of equals. */
const narrowest = (found: readonly Collector[]): Collector | undefined =>
  found.toSorted((a, b) => WIDTH[a.redistributable] - WIDTH[b.redistributable])[0];

export function termsOf(
  definition: ProviderDefinition,
  entry: CatalogueEntry,
  overlay: IndicatorOverlay,
  collectors: Collectors,
): Terms {
  const named = listSources(definition, entry, overlay).map((source) => ({
    source,
    collector: narrowest(collectors.match(source)),
  }));
  const isDecided = overlay.redistributable === true;
  const decisive = isDecided ? undefined : narrowest(named.flatMap(({ collector }) => collector ?? []));
  const isNarrowed = decisive !== undefined && decisive.redistributable !== 'yes';
  const own = ownLicence(definition, overlay);
  // A licence that curated data state for the series is more exact than its collector's.
  const licence = isNarrowed && overlay.licence === undefined ? licenceOf(decisive) : own;
  const withheldBy = findWithholder(definition, overlay, decisive);
  const reason = overlay.licence_reason ?? `The licence of ${definition.name}.`;
  const isDisplay =
    [definition.access_tier, overlay.access_tier].includes('display') ||
    decisive?.redistributable === 'display';
  const sources = named.map(
    ({ source, collector }): IndicatorSource => ({
      ...source,
      name: source.name ?? collector?.name ?? siteName(definition, source.url),
      ...(collector === undefined || isDecided
        ? { ...licence, licence_reason: reason }
        : { ...licenceOf(collector), licence_reason: collector.reason }),
    }),
  );
  return {
    ...licence,
    access_tier: isDisplay ? 'display' : 'open',
    attribution: overlay.attribution ?? creditLine(definition, sources),
    redistributable: withheldBy === null,
    withheldBy,
    sources,
  };
}

function findWithholder(
  definition: ProviderDefinition,
  overlay: IndicatorOverlay,
  decisive: Collector | undefined,
): string | null {
  if (!definition.redistributable) return `${definition.name}: ${definition.licence}`;
  if (overlay.redistributable === false) return overlay.licence_reason ?? 'Withheld by its overlay.';
  return decisive?.redistributable === 'no' ? `${decisive.name}: ${decisive.licence}` : null;
}

const licenceOf = ({ licence, licence_url }: Collector) => ({ licence, licence_url });

/** The provider's licence URL does not apply to another licence. */
const ownLicence = (definition: ProviderDefinition, overlay: IndicatorOverlay) => ({
  licence: overlay.licence ?? definition.licence,
  licence_url: overlay.licence_url ?? (overlay.licence === undefined ? definition.licence_url : null),
});

/**
 * Curated sources, else upstream's. Where neither names any, the figures may come from each of those that the provider
 * collects from, or are its own.
 */
function listSources(
  { name, upstream }: ProviderDefinition,
  entry: CatalogueEntry,
  overlay: IndicatorOverlay,
): NamedSource[] {
  const { source, source_url: url } = entry;
  const curated = overlay.sources ?? [];
  if (curated.length > 0) return curated.map(complete);
  if (entry.sources !== undefined) return entry.sources;
  if (source !== null || url !== null) return [{ name: source, url, note: null }];
  return (upstream.length > 0 ? upstream : [{ name }]).map(complete);
}

const complete = (source: {
  name: string;
  url?: string | undefined;
  note?: string | undefined;
}): NamedSource => ({
  name: source.name,
  url: source.url ?? null,
  note: source.note ?? null,
});

/** A page of the provider is its own; any other has the name of its host. */
function siteName({ name, origin }: ProviderDefinition, url: string | null): string {
  const host = parseHost(url ?? origin);
  return host === parseHost(origin) ? name : host;
}

const parseHost = (url: string): string => /^(?:[a-z]+:\/\/)?(?:www\.)?([^/]+)/i.exec(url)?.[1] ?? url;

/** The provider's line, with the sources where its definition asks for them and they are others than the provider. */
function creditLine(definition: ProviderDefinition, sources: readonly IndicatorSource[]): string {
  const own = definition.name.toLowerCase();
  const names = [...new Set(sources.map(({ name }) => name))].filter(
    (name) => !name.toLowerCase().startsWith(own),
  );
  return definition.credit_sources && names.length > 0
    ? `${definition.attribution}. Source: ${names.join('; ')}`
    : definition.attribution;
}

/**
 * Decisions come before curated settings. They cannot publish what the provider's own definition withholds, and what was
 * deleted because law demands it stays away, too; see `withoutWithheld`, which is applied after this.
 */
export function withDecisions(
  curated: Curated,
  { providers, licences, findings }: OperatorDecisions,
): Curated {
  if (providers.size + licences.size + findings.length === 0) return curated;
  const decided = [...curated.providers].map(([id, definition]) => {
    const { enabled = definition.enabled } = providers.get(id) ?? {};
    return [id, { ...definition, enabled }] as const;
  });
  const refused = [...licences].flatMap(([id, { publish }]) => (publish === 'withhold' ? [id] : []));
  const keys = new Set(findings.map(decisionKey));
  return {
    ...curated,
    providers: new Map(decided),
    decisions: [...findings, ...curated.decisions.filter((row) => !keys.has(decisionKey(row)))],
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
    redistributable: true,
    access_tier,
    licence,
    licence_url: licence_url ?? undefined,
    licence_reason,
    ...(attribution !== null && { attribution }),
  };
}

/** What is withheld, as the plan of a build knows it. */
export function withoutWithheld(curated: Curated, { decisions }: WithheldRecord): Curated {
  if (decisions.length === 0) return curated;
  const subjects = new Set(decisions.map(({ subject }) => subject));
  const providers = [...curated.providers].map(
    ([id, definition]) => [id, subjects.has(id) ? { ...definition, enabled: false } : definition] as const,
  );
  const withheld = new Map(decisions.map(({ subject, reason }) => [subject, reason]));
  return { ...curated, providers: new Map(providers), withheld };
}
