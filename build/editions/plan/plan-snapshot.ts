/**
 * Plans a snapshot: its providers and indicators, with names, licences and access tiers.
 *
 * This decides what may be published. A provider must be enabled and redistributable. An indicator must not be disabled
 * or withheld, by curated data, by the terms of its sources (`licensing.ts`) or by a quality decision.
 */
import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { Curated } from '../../../data/curated/curated.ts';
import type { IndicatorOverlay, ProviderDefinition } from '../../../data/schema/curated.ts';
import type { ExcludedIndicator } from '../../../data/schema/jobs.ts';
import type {
  CatalogueEntry,
  RunRecord,
  UpstreamAggregates,
  UpstreamFile,
} from '../../../data/schema/lake.ts';
import {
  applyOverride,
  type EditableFacts,
  editableFactsOf,
  hasEdits,
  type Overrides,
} from '../../../data/schema/operator-changes.ts';
import type { QualityDecisionWord } from '../../../data/schema/quality.ts';
import type { CountryRecord, IndicatorRecord, IndicatorSource } from '../../../data/schema/records.ts';
import { compareByName } from '../../../data/schema/snapshot.ts';
import {
  filesBySeries,
  firstProjectedYear,
  type LakeRun,
  lastGood,
  type ProjectionRule,
  ProviderLake,
  projectionRuleOf,
  readSources,
  type SeriesFacts,
  type SeriesFile,
  yearsWithoutRule,
} from '../../lake/lake.ts';
import { type Terms, termsOf } from './licensing.ts';

type SnapshotRecord = Omit<IndicatorRecord, 'coverage'>;

export interface PlannedIndicator {
  id: string;
  /** Position of the id among all planned ids. */
  number: number;
  slug: string;
  providerId: string;
  /** The public record without its coverage, which is computed from the observations. */
  record: SnapshotRecord;
  /** How upstream describes it. */
  upstream: CatalogueEntry;
  /** Upstream's own figures of groups. */
  aggregates: UpstreamAggregates[string];
  /** For `include=sources`. */
  sources: IndicatorSource[];
  /** The upstream files that its figures come from, by URL. None for a series without a row. */
  files: readonly UpstreamFile[];
  /** What operators edited, as it is without their edits; null without edits. */
  original: EditableFacts | null;
  topicOrder: number;
  /** First projected year for rows without a flag. */
  projectedFrom: number;
  /** Confidence level of the bounds; null where none is declared. */
  ciLevel: number | null;
  /** Years with figures that only the clock makes projections: the definition has no rule for them. */
  flaggedByClock: readonly number[];
  /** Its lake file (Parquet). */
  lake: string;
  /** Its rows in the lake file, disabled countries included. */
  lakeRows: number;
  /** Hash of everything that its published observations depend on. */
  inputs: string;
}

type UnnumberedIndicator = Omit<PlannedIndicator, 'number'>;

export interface PlannedProvider {
  definition: ProviderDefinition;
  /** The run to publish; null without a good run. */
  run: LakeRun | null;
  /** The newest run that read its upstream, or found it unchanged. */
  lastGood: RunRecord | null;
  /** The newest run, however it ended. */
  newest: RunRecord | null;
}

export interface SnapshotPlan {
  /** Enabled countries by name. */
  countries: CountryRecord[];
  /** Public providers by id. */
  providers: PlannedProvider[];
  /** By name. */
  indicators: PlannedIndicator[];
  /** Ids of indicators in the lake that must not be published. */
  withheld: string[];
  /** The same without those that operators disabled, with reasons. */
  excluded: ExcludedIndicator[];
}

/** Increment when the computation of published observations changes. */
const MATERIALISE_VERSION = 5;
/** Sorts indicators without a curated order last. */
const UNORDERED = 1_000_000;
/** Beyond every year; an SQL integer parameter. */
const NEVER_PROJECTED = 1_000_000;

/** A provider with its last good run. */
interface Source {
  provider: PlannedProvider;
  catalogue: CatalogueEntry[];
  series: SeriesFile;
  aggregates: UpstreamAggregates;
  files: ReadonlyMap<string, readonly UpstreamFile[]>;
}

/**
 * @param currentYear years after it are projected unless the definition says otherwise
 * @throws {Error} when a lake run cannot be read.
 */
export async function planSnapshot(
  lakeDir: string,
  curated: Curated,
  overrides: Overrides,
  currentYear: number,
): Promise<SnapshotPlan> {
  const runs = [...curated.providers.values()].map((definition) => readSource(lakeDir, definition));
  const sources = await withFiles(lakeDir, await Promise.all(runs));
  const isPublic = ({ provider }: Source): boolean =>
    provider.definition.enabled && provider.definition.redistributable;
  const countries = enabledCountries(curated);
  const spine = countries
    .map((country) => country.iso3)
    .sort()
    .join();
  const circumstances = { curated, overrides, spine, currentYear };
  const indicators: UnnumberedIndicator[] = [];
  const withheld: string[] = [];
  const excluded: ExcludedIndicator[] = [];
  for (const source of sources) {
    for (const entry of source.catalogue) {
      const { definition } = source.provider;
      const planned = isPublic(source) ? planIndicator(source, entry, circumstances) : null;
      if (planned) {
        indicators.push(planned);
        continue;
      }
      const id = `${definition.id}.${entry.slug}`;
      withheld.push(id);
      if (overrides.get(id)?.enabled !== false) excluded.push(excludedIndicator(id, source, entry, curated));
    }
  }
  return {
    countries,
    providers: sources.filter(isPublic).map((source) => source.provider),
    indicators: numbered(indicators).sort((a, b) => compareByName(a.record, b.record)),
    withheld: withheld.sort(),
    excluded,
  };
}

const numbered = (indicators: readonly UnnumberedIndicator[]): PlannedIndicator[] =>
  indicators
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map((indicator, number) => ({ ...indicator, number }));

/** Adds the upstream files of each series. */
async function withFiles(lakeDir: string, sources: readonly Omit<Source, 'files'>[]): Promise<Source[]> {
  const runs = sources.map(({ provider }) => provider.run);
  const lists = await readSources(runs, join(lakeDir, '.scratch-plan'));
  return sources.map((source, index) => {
    const slugs = source.catalogue.map(({ slug }) => slug);
    return { ...source, files: filesBySeries(lists[index] ?? [], slugs) };
  });
}

async function readSource(lakeDir: string, definition: ProviderDefinition): Promise<Omit<Source, 'files'>> {
  const lake = new ProviderLake(lakeDir, definition.id);
  const run = await lake.current();
  const records = await lake.records();
  return {
    provider: { definition, run, lastGood: lastGood(records), newest: records.at(-1) ?? null },
    catalogue: run ? await lake.catalogue(run) : [],
    series: run ? await lake.series(run) : {},
    aggregates: run ? await lake.aggregates(run) : {},
  };
}

function enabledCountries(curated: Curated): CountryRecord[] {
  return curated.countries
    .filter((country) => country.enabled)
    .map(({ enabled: _, ...record }) => record)
    .sort((a, b) => compareByName({ name: a.name, id: a.iso3 }, { name: b.name, id: b.iso3 }));
}

/** What the plan of every indicator depends on. */
interface Circumstances {
  curated: Curated;
  overrides: Overrides;
  /** The enabled countries. */
  spine: string;
  currentYear: number;
}

/** Plans one indicator; null when it must not be published. */
function planIndicator(
  source: Source,
  entry: CatalogueEntry,
  { curated, overrides, spine, currentYear }: Circumstances,
): UnnumberedIndicator | null {
  const { definition, run } = source.provider;
  const id = `${definition.id}.${entry.slug}`;
  const overlay = curated.overlay(definition.id, entry);
  const override = overrides.get(id) ?? {};
  const isEnabled = override.enabled ?? overlay.enabled ?? true;
  const facts = source.series[entry.slug];
  const terms = termsOf(definition, entry, overlay, curated.collectors);
  if (!run || !facts || !isEnabled || !terms.redistributable) return null;
  if (isDecided(curated, id, 'withhold') || curated.withheld.has(id)) return null;
  const unranked = isDecided(curated, id, 'unrank') ? { no_rank: true } : {};
  const original = buildRecord(id, definition, entry, { ...overlay, ...unranked }, terms);
  const record = applyOverride(original, { ...override, ...unranked });
  const rule = projectionRuleOf(definition, overlay);
  const projectedFrom = projectedFromOf(rule, facts, currentYear);
  const ciLevel = overlay.ci_level ?? definition.ci_level ?? null;
  const inputs = [
    MATERIALISE_VERSION,
    facts.digest,
    spine,
    projectedFrom,
    ciLevel,
    record.higher_is_better,
    record.no_rank,
  ];
  return {
    id,
    slug: entry.slug,
    providerId: definition.id,
    record,
    upstream: entry,
    aggregates: source.aggregates[entry.slug] ?? {},
    sources: terms.sources,
    files: source.files.get(entry.slug) ?? [],
    original: hasEdits(override) ? editableFactsOf(original) : null,
    topicOrder: overlay.order ?? UNORDERED,
    projectedFrom,
    ciLevel,
    flaggedByClock: yearsWithoutRule(facts.ahead, currentYear, rule),
    lake: run.observations,
    lakeRows: facts.rows,
    inputs: hash('sha256', JSON.stringify(inputs)),
  };
}

/** The clock counts only where there are rows ahead of it, so that other files stay as they are in a new year. */
function projectedFromOf(rule: ProjectionRule, { ahead }: SeriesFacts, currentYear: number): number {
  const hasRowsAhead = ahead !== null && ahead.last_row > currentYear;
  const from = hasRowsAhead ? firstProjectedYear(rule, currentYear) : rule.projected_from;
  return Math.min(from ?? NEVER_PROJECTED, NEVER_PROJECTED);
}

function excludedIndicator(
  id: string,
  { provider: { definition } }: Source,
  entry: CatalogueEntry,
  curated: Curated,
): ExcludedIndicator {
  const overlay = curated.overlay(definition.id, entry);
  const why = (): Pick<ExcludedIndicator, 'why' | 'detail'> => {
    const { withheldBy } = termsOf(definition, entry, overlay, curated.collectors);
    if (withheldBy !== null) return { why: 'not redistributable', detail: withheldBy };
    if (!definition.enabled) return { why: 'provider off' };
    const deleted = curated.withheld.get(id);
    if (deleted !== undefined) return { why: 'withheld', detail: deleted };
    const decision = findDecision(curated, id, 'withhold');
    if (decision) return { why: 'withheld', detail: decision.reason };
    return { why: overlay.enabled === false ? 'curated away' : 'no figures' };
  };
  return {
    id,
    name: overlay.name ?? entry.name,
    unit: overlay.unit ?? entry.unit ?? '',
    topic: overlay.topic ?? definition.default_topic,
    provider: definition.id,
    ...why(),
  };
}

/** Whether a finding of the quality report is decided so for a series, whatever its extent is by now. */
const isDecided = (curated: Curated, id: string, word: QualityDecisionWord): boolean =>
  findDecision(curated, id, word) !== undefined;

const findDecision = ({ decisions }: Curated, id: string, word: QualityDecisionWord) =>
  decisions.find(({ subject, decision }) => subject === id && decision === word);

/** Curated texts override upstream's; operators' edits come on top. An empty text counts as none. */
function buildRecord(
  id: string,
  definition: ProviderDefinition,
  entry: CatalogueEntry,
  overlay: IndicatorOverlay,
  { licence, licence_url, access_tier, attribution }: Terms,
): SnapshotRecord {
  return {
    id,
    name: overlay.name ?? entry.name,
    description: (overlay.description ?? entry.description) || null,
    unit: (overlay.unit ?? entry.unit) || null,
    topic: overlay.topic ?? definition.default_topic,
    higher_is_better: overlay.higher_is_better ?? null,
    preferred: overlay.preferred ?? false,
    featured: overlay.featured ?? false,
    access_tier,
    no_rank: overlay.no_rank ?? false,
    licence,
    licence_url,
    attribution,
    provider: { id: definition.id, name: definition.name, licence, licence_url, attribution },
  };
}
