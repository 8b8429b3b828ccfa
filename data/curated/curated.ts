/**
 * Loads all curated data and checks it as a whole.
 *
 * `loadCurated` returns data in which every reference is valid (topics exist, place aliases refer to listed countries,
 * expressions compile, overlays belong to a provider), or throws one `CuratedError` that lists every problem as
 * `file:line: reason`. Callers need no checks of their own.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import {
  type CountryGroup,
  type CreditPack,
  type CuratedLink,
  creditPack,
  curatedLink,
  type IndicatorAlias,
  type IndicatorOverlay,
  indicatorAlias,
  type ProviderDefinition,
  type SpineCountry,
  type Territory,
  TOPIC_SLUGS,
  type TopicDefinition,
  topicDefinition,
} from '../schema/curated.ts';
import type { CatalogueEntry } from '../schema/lake.ts';
import {
  decisionKey,
  QUALITY_DECISION_COLUMNS,
  type QualityDecision,
  qualityDecision,
} from '../schema/quality.ts';
import { INDICATOR_ID } from '../schema/records.ts';
import { type Collectors, loadCollectors } from './collectors.ts';
import { type Concepts, loadConcepts, SAME_CONCEPT } from './concepts.ts';
import { loadMeasures, loadTerritories, type Measures } from './measures.ts';
import { loadCountries, loadGroups, loadPlaces, type PlaceTable } from './places.ts';
import { loadOverlays, loadProviders, overlayOf, type Providers } from './providers.ts';
import { asNumber, check, type Position, Problems, readDocument, readTable, type TableRow } from './table.ts';

export type { Place, PlaceTable } from './places.ts';
export { CuratedError } from './table.ts';

export interface Curated {
  /** Countries in the file's order; `enabled` says whether one is served. */
  countries: SpineCountry[];
  /** Groups of countries. */
  groups: CountryGroup[];
  /** Places of which the figure of one may include the other. */
  territories: Territory[];
  /** The 13 topics in the curated order. */
  topics: TopicDefinition[];
  /** Definitions by id, in the order of ids. */
  providers: Map<string, ProviderDefinition>;
  /**
   * Curated settings of one series: rules, its concept, `indicators` and the overlay table of its provider, merged. The provider's
   * defaults (`default_topic`, licence, tier) are not included.
   * @throws {RangeError} for a provider without a definition.
   */
  overlay(providerId: string, entry: CatalogueEntry): IndicatorOverlay;
  /** The slugs of `overlay/<provider>.csv`, with their lines. */
  overlayRows(providerId: string): readonly { slug: string; line: number }[];
  places: PlaceTable;
  /** Statistics of which there are several series. */
  concepts: Concepts;
  /** What series measure. */
  measures: Measures;
  /** Relations between series that are not of one concept. */
  links: CuratedLink[];
  /** Former ids of indicators. */
  aliases: IndicatorAlias[];
  /** Reasons why series were deleted from all snapshots, by id. Not curated, but recorded in `withheld.json`. */
  withheld: ReadonlyMap<string, string>;
  /** Ids of series that operators decided to withhold for their licence. Not curated either. */
  refused: ReadonlySet<string>;
  /** What has been decided about findings of the quality report. */
  decisions: QualityDecision[];
  /** Original collectors and their terms. */
  collectors: Collectors;
  /** Credits that can be bought, cheapest first. */
  packs: CreditPack[];
}

/**
 * Reads and checks the curated data in `dir` (in this project, `data`).
 * @throws {CuratedError} listing every problem by file and line.
 */
export async function loadCurated(dir: string): Promise<Curated> {
  const problems = new Problems();
  const spine = loadCountries(join(dir, 'countries.csv'), problems);
  const groups = loadGroups(join(dir, 'groups.csv'), spine, problems);
  const topics = await loadTopics(join(dir, 'topics.yaml'), problems);
  const places = loadPlaces(join(dir, 'places.csv'), spine, problems);
  const providers = await loadProviders(join(dir, 'providers'), places.schemes, problems);
  checkAggregates(providers, groups, problems);
  const overlays = await loadOverlays(join(dir, 'overlay'), providers.named, problems);
  const territories = loadTerritories(join(dir, 'territories.csv'), spine, providers.named, problems);
  const concepts = await loadConcepts(dir, providers, overlays, problems);
  const measures = loadMeasures(dir, concepts, providers.named, problems);
  const links = await loadLinks(join(dir, 'links.csv'), providers.named, problems);
  const aliases = await loadAliases(join(dir, 'aliases.csv'), providers.named, problems);
  const decisions = await loadDecisions(join(dir, 'quality-decisions.csv'), providers.named, problems);
  const collectors = await loadCollectors(join(dir, 'collectors.csv'), problems);
  const packs = await loadPacks(join(dir, 'packs.yaml'), problems);
  problems.throwIfAny();
  const merged = new Map(
    [...providers.definitions].map(([id, definition]) => [
      id,
      overlayOf(definition, overlays.get(id), (indicator) => concepts.settingsOf(indicator)),
    ]),
  );
  const overlay = (providerId: string, entry: CatalogueEntry): IndicatorOverlay => {
    const merge = merged.get(providerId);
    if (merge === undefined) throw new RangeError(`there is no provider "${providerId}"`);
    return merge(entry);
  };
  const overlayRows = (providerId: string) =>
    [...(overlays.get(providerId) ?? [])].map(([slug, { at }]) => ({ slug, line: at.line }));
  return {
    countries: spine.countries,
    groups,
    territories,
    topics,
    providers: providers.definitions,
    overlay,
    overlayRows,
    places,
    concepts,
    measures,
    links,
    aliases,
    decisions,
    withheld: new Map(),
    refused: new Set(),
    collectors,
    packs,
  };
}

function checkAggregates(providers: Providers, groups: readonly CountryGroup[], problems: Problems): void {
  const known = new Set(groups.map(({ id }) => id));
  for (const [id, { aggregates }] of providers.definitions)
    for (const [code, group] of Object.entries(aggregates))
      if (!known.has(group))
        problems.add(providers.at(id, ['aggregates', code]), `aggregates: there is no group "${group}"`);
}

async function loadTopics(file: string, problems: Problems): Promise<TopicDefinition[]> {
  const document = await readDocument(file, z.array(topicDefinition), problems);
  if (document === undefined) return [];
  const { value: topics, at } = document;
  if (topics.length !== TOPIC_SLUGS.length) {
    problems.add(at([]), `${topics.length} topics where there must be ${TOPIC_SLUGS.length}`);
  }
  topics.forEach(({ slug }, i) => {
    const expected = TOPIC_SLUGS[i];
    if (slug !== expected) problems.add(at([i]), `${i}: "${slug}" where "${expected}" must stand`);
  });
  return topics;
}

async function loadLinks(
  file: string,
  providers: ReadonlySet<string>,
  problems: Problems,
): Promise<CuratedLink[]> {
  const links: CuratedLink[] = [];
  const seen = new Set<string>();
  for (const { cells, ...at } of readTable(file, ['from', 'to', 'relation'], [], problems)) {
    const link = check(curatedLink, cells, at, problems);
    if (link === undefined) continue;
    for (const id of [link.from, link.to]) {
      const provider = id.slice(0, id.indexOf('.'));
      if (!providers.has(provider)) problems.add(at, `${id}: there is no provider "${provider}"`);
    }
    if (link.relation === SAME_CONCEPT) problems.add(at, `${SAME_CONCEPT}: belongs in concept-series.csv`);
    if (link.from === link.to) problems.add(at, `${link.from} is linked to itself`);
    // A link counts in both directions, so its reverse is a duplicate.
    const key = [link.from, link.to].toSorted().join(' ');
    if (seen.has(key)) problems.add(at, `${link.from} is linked to ${link.to} twice`);
    seen.add(key);
    links.push(link);
  }
  return links;
}

async function loadPacks(file: string, problems: Problems): Promise<CreditPack[]> {
  const document = await readDocument(file, z.array(creditPack).min(1), problems);
  if (document === undefined) return [];
  const { value: packs, at } = document;
  packs.forEach(({ id }, i) => {
    if (packs.findIndex((pack) => pack.id === id) < i) problems.add(at([i]), `${i}.id: "${id}" occurs twice`);
  });
  return packs.toSorted((a, b) => a.price_minor - b.price_minor);
}

const COLUMNS = ['old', 'new', 'since', 'until'] as const;

/** In file order; none without the file. @param providers the ids that there are; that of an old id may be gone. */
export async function loadAliases(
  file: string,
  providers: ReadonlySet<string>,
  problems: Problems,
): Promise<IndicatorAlias[]> {
  if (!existsSync(file)) return [];
  const found = readTable(file, COLUMNS, [], problems).flatMap((row) => {
    const alias = check(indicatorAlias, row.cells, row, problems);
    return alias === undefined ? [] : [{ alias, row }];
  });
  const lines = new Map<string, number>();
  for (const { alias, row } of found) {
    const first = lines.get(alias.old);
    if (first !== undefined) problems.add(row, `${alias.old} has a new id in line ${first} already`);
    else lines.set(alias.old, row.line);
  }
  for (const { alias, row } of found) checkAlias(alias, row, lines, providers, problems);
  return found.map(({ alias }) => alias);
}

/** @param lines of the old ids. */
function checkAlias(
  { old, new: next, since, until }: IndicatorAlias,
  row: TableRow<string>,
  lines: ReadonlyMap<string, number>,
  providers: ReadonlySet<string>,
  problems: Problems,
): void {
  const provider = next.slice(0, next.indexOf('.'));
  if (!providers.has(provider)) problems.add(row, `${next}: there is no provider "${provider}"`);
  const line = lines.get(next);
  if (next === old) problems.add(row, `${old} is an alias of itself`);
  else if (line !== undefined)
    problems.add(row, `${next} is itself renamed in line ${line}: name its newest id`);
  if (until !== null && until < since) problems.add(row, `until: ${until} is before ${since}`);
}

/**
 * Returns the decisions in file order; none without the file.
 * @param providers the ids that there are.
 */
export async function loadDecisions(
  file: string,
  providers: ReadonlySet<string>,
  problems: Problems,
): Promise<QualityDecision[]> {
  if (!existsSync(file)) return [];
  const decisions: QualityDecision[] = [];
  const seen = new Set<string>();
  for (const { cells, ...at } of readTable(file, QUALITY_DECISION_COLUMNS, [], problems)) {
    const decision = check(qualityDecision, { ...cells, extent: asNumber(cells.extent) }, at, problems);
    if (decision === undefined) continue;
    checkSubject(decision, providers, at, problems);
    const { kind, subject, other } = decision;
    const key = decisionKey(decision);
    if (seen.has(key))
      problems.add(at, `${kind} of ${subject}${other ? ` and ${other}` : ''} is decided twice`);
    seen.add(key);
    decisions.push(decision);
  }
  return decisions;
}

function checkSubject(
  { subject, other, decision }: QualityDecision,
  providers: ReadonlySet<string>,
  at: Position,
  problems: Problems,
): void {
  const isSeries = INDICATOR_ID.test(subject);
  for (const id of other === null ? [subject] : [subject, other]) {
    const provider = id.split('.', 1)[0] ?? '';
    if (!providers.has(provider)) problems.add(at, `${id}: there is no provider "${provider}"`);
  }
  if (!isSeries && subject.includes('.')) {
    problems.add(
      at,
      `subject: "${subject}" is neither an indicator id, <provider>.<slug>, nor a provider id`,
    );
  } else if (!isSeries && other !== null) {
    problems.add(at, `other: a finding on the whole provider "${subject}" has no other series`);
  } else if (!isSeries && (decision === 'withhold' || decision === 'unrank')) {
    problems.add(
      at,
      `decision: a whole provider cannot be decided as "${decision}"; set it in its definition`,
    );
  }
}
