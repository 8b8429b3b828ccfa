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
  TOPIC_SLUGS,
  type TopicDefinition,
  topicDefinition,
} from '../schema/curated.ts';
import type { CatalogueEntry } from '../schema/lake.ts';
import { decisionKey, type QualityDecision, qualityDecision } from '../schema/quality.ts';
import { INDICATOR_ID } from '../schema/records.ts';
import { loadCollectors } from './collectors.ts';
import { loadConcepts, SAME_CONCEPT } from './concepts.ts';
import { loadMeasures, loadTerritories } from './measures.ts';
import { loadCountries, loadGroups, loadPlaces } from './places.ts';
import { loadOverlays, loadProviders, overlayOf, type Providers } from './providers.ts';
import { asNumber, checkedRows, checkProvider, type Position, Problems, readDocument } from './table.ts';

export type { Place, PlaceTable } from './places.ts';
export { CuratedError } from './table.ts';

export type Curated = Awaited<ReturnType<typeof loadCurated>>;

/**
 * Reads and checks the curated data in `dir` (in this project, `data`).
 * @throws {CuratedError} listing every problem by file and line.
 */
export async function loadCurated(dir: string) {
  const problems = new Problems();
  const spine = loadCountries(join(dir, 'countries.csv'), problems);
  const groups = loadGroups(join(dir, 'groups.csv'), spine, problems);
  const topics = await loadTopics(join(dir, 'topics.yaml'), problems);
  const places = loadPlaces(join(dir, 'places.csv'), spine, problems);
  const providers = await loadProviders(join(dir, 'providers'), places.schemes, problems);
  checkAggregates(providers, groups, problems);
  const overlays = await loadOverlays(join(dir, 'overlay'), providers.named, problems);
  const territories = loadTerritories(join(dir, 'territories.csv'), spine, providers.named, problems);
  const concepts = loadConcepts(dir, providers, overlays, problems);
  const measures = loadMeasures(dir, concepts, providers.named, problems);
  const links = loadLinks(join(dir, 'links.csv'), providers.named, problems);
  const aliases = loadAliases(join(dir, 'aliases.csv'), providers.named, problems);
  const decisions = loadDecisions(join(dir, 'quality-decisions.csv'), providers.named, problems);
  const collectors = loadCollectors(join(dir, 'collectors.csv'), problems);
  const packs = await loadPacks(join(dir, 'packs.yaml'), problems);
  problems.throwIfAny();
  const merged = new Map(
    [...providers.definitions].map(([id, definition]) => [
      id,
      overlayOf(definition, overlays.get(id), (indicator) => concepts.settingsOf(indicator)),
    ]),
  );
  /** Reasons why series were deleted from all snapshots, by id. Not curated, but recorded in `withheld.json`. */
  const withheld: ReadonlyMap<string, string> = new Map();
  /** Ids of series that operators decided to withhold for their licence. Not curated either. */
  const refused: ReadonlySet<string> = new Set();
  return {
    /** Countries in the file's order; `enabled` says whether one is served. */
    countries: spine.countries,
    groups,
    /** Places of which the figure of one may include the other. */
    territories,
    /** The 13 topics in the curated order. */
    topics,
    /** Definitions by id, in the order of ids. */
    providers: providers.definitions,
    /**
     * Curated settings of one series: rules, its concept, `indicators` and the overlay table of its provider, merged. The provider's
     * defaults (`default_topic`, licence, tier) are not included.
     * @throws {RangeError} for a provider without a definition.
     */
    overlay(providerId: string, entry: CatalogueEntry): IndicatorOverlay {
      const merge = merged.get(providerId);
      if (merge === undefined) throw new RangeError(`there is no provider "${providerId}"`);
      return merge(entry);
    },
    /** The slugs of `overlay/<provider>.csv`, with their lines. */
    overlayRows: (providerId: string) =>
      [...(overlays.get(providerId) ?? [])].map(([slug, { at }]) => ({ slug, line: at.line })),
    places,
    concepts,
    measures,
    links,
    aliases,
    decisions,
    withheld,
    refused,
    collectors,
    /** Credits that can be bought, cheapest first. */
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

function loadLinks(file: string, providers: ReadonlySet<string>, problems: Problems): CuratedLink[] {
  const links: CuratedLink[] = [];
  const seen = new Set<string>();
  for (const { row: link, ...at } of checkedRows(curatedLink, file, problems)) {
    for (const id of [link.from, link.to]) checkProvider(id, providers, at, problems);
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

/** In file order; none without the file. @param providers the ids that there are; that of an old id may be gone. */
function loadAliases(file: string, providers: ReadonlySet<string>, problems: Problems): IndicatorAlias[] {
  if (!existsSync(file)) return [];
  const found = [...checkedRows(indicatorAlias, file, problems)];
  const lines = new Map<string, number>();
  for (const { row, ...at } of found) {
    const first = lines.get(row.old);
    if (first !== undefined) problems.add(at, `${row.old} has a new id in line ${first} already`);
    else lines.set(row.old, at.line);
  }
  for (const { row, ...at } of found) {
    const { old, new: next, since, until } = row;
    const line = lines.get(next);
    checkProvider(next, providers, at, problems);
    if (next === old) problems.add(at, `${old} is an alias of itself`);
    else if (line !== undefined)
      problems.add(at, `${next} is itself renamed in line ${line}: name its newest id`);
    if (until !== null && until < since) problems.add(at, `until: ${until} is before ${since}`);
  }
  return found.map(({ row }) => row);
}

/** In file order; none without the file. @param providers the ids that there are. */
function loadDecisions(file: string, providers: ReadonlySet<string>, problems: Problems): QualityDecision[] {
  if (!existsSync(file)) return [];
  const decisions: QualityDecision[] = [];
  const seen = new Set<string>();
  const rows = checkedRows(qualityDecision, file, problems, (cells) => ({
    ...cells,
    extent: asNumber(cells.extent),
  }));
  for (const { row: decision, ...at } of rows) {
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
  for (const id of other === null ? [subject] : [subject, other]) checkProvider(id, providers, at, problems);
  const fault = subject.includes('.')
    ? `subject: "${subject}" is neither an indicator id, <provider>.<slug>, nor a provider id`
    : other !== null
      ? `other: a finding on the whole provider "${subject}" has no other series`
      : decision === 'withhold' || decision === 'unrank'
        ? `decision: a whole provider cannot be decided as "${decision}"; set it in its definition`
        : null;
  if (!isSeries && fault !== null) problems.add(at, fault);
}
