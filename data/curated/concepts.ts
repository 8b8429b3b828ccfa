/**
 * Reads the concepts, `concepts.csv`, and their series, `concept-series.csv`.
 *
 * A concept is one statistic that people ask for, of one series or several. Its topic, direction, projected rule and preferred series
 * hold for all of them; a series that deviates says why. What an overlay row or a definition states must not contradict
 * the concept.
 */
import { join } from 'node:path';
import {
  type Concept,
  type ConceptSeries,
  concept,
  conceptSeries,
  type IndicatorOverlay,
} from '../schema/curated.ts';
import { NEITHER_BETTER, type OverlayTables, type Providers } from './providers.ts';
import { asBoolean, asNumber, check, type Position, type Problems, readTable } from './table.ts';

const CONCEPT_COLUMNS = Object.keys(concept.shape) as (keyof Concept)[];
const SERIES_COLUMNS = Object.keys(conceptSeries.shape) as (keyof ConceptSeries)[];

/** The relation of two series of one concept, which `links.csv` does not state. */
export const SAME_CONCEPT = 'same_concept';

/** A series with its concept. */
export interface ConceptMember {
  concept: Concept;
  series: ConceptSeries;
}

export class Concepts {
  /** By concept id; the preferred series first, the others in the file's order. */
  readonly members: ReadonlyMap<string, readonly ConceptMember[]>;
  readonly #byIndicator: ReadonlyMap<string, ConceptMember>;

  constructor(members: readonly ConceptMember[]) {
    const rank = ({ concept: { preferred }, series }: ConceptMember): number =>
      preferred === series.indicator ? 0 : 1;
    this.members = Map.groupBy(
      members.toSorted((a, b) => rank(a) - rank(b)),
      (member) => member.concept.id,
    );
    this.#byIndicator = new Map(members.map((member) => [member.series.indicator, member]));
  }

  of(indicator: string): ConceptMember | undefined {
    return this.#byIndicator.get(indicator);
  }

  /** The slugs of a provider's series that are in a concept, in the order of the file. */
  slugsOf(providerId: string): string[] {
    const prefix = `${providerId}.`;
    return [...this.#byIndicator.keys()]
      .filter((indicator) => indicator.startsWith(prefix))
      .map((indicator) => indicator.slice(prefix.length));
  }

  /** All pairs of series of one concept; those with the preferred one first. */
  pairs(): [ConceptMember, ConceptMember][] {
    return [...this.members.values()].flatMap((members) =>
      members.flatMap((one, at) =>
        members.slice(at + 1).map((other): [ConceptMember, ConceptMember] => [one, other]),
      ),
    );
  }

  /** What a series takes from its concept; nothing without one. */
  settingsOf(indicator: string): IndicatorOverlay {
    const member = this.of(indicator);
    if (member === undefined) return {};
    const { concept: own, series } = member;
    const isPreferred = own.preferred === indicator;
    const holds = (setting: ConceptSeries['deviates'][number]): boolean => !series.deviates.includes(setting);
    return {
      preferred: isPreferred,
      ...(holds('topic') && { topic: own.topic }),
      ...(holds('higher_is_better') && { higher_is_better: own.higher_is_better }),
      ...(holds('projected_from') && own.projected_from !== null && { projected_from: own.projected_from }),
      ...(holds('featured') && !isPreferred && { featured: false }),
    };
  }
}

/** Reads both files in `dir`; `providers` are those that there are. */
export async function loadConcepts(
  dir: string,
  providers: Providers,
  overlays: OverlayTables,
  problems: Problems,
): Promise<Concepts> {
  const known = new Map<string, { concept: Concept; at: Position }>();
  for (const { cells, ...at } of readTable(join(dir, 'concepts.csv'), CONCEPT_COLUMNS, [], problems)) {
    const found = check(concept, conceptOf(cells), at, problems);
    if (found === undefined) continue;
    if (known.has(found.id)) problems.add(at, `${found.id} is listed twice`);
    else known.set(found.id, { concept: found, at });
  }
  const concepts = new Concepts(await loadSeries(dir, known, providers.named, problems));
  for (const { concept: own, at } of known.values()) {
    if (concepts.of(own.preferred)?.concept !== own)
      problems.add(at, `preferred: ${own.preferred} is no series of ${own.id} in concept-series.csv`);
  }
  for (const member of [...concepts.members.values()].flat()) {
    for (const { stated, at } of statementsOn(member.series.indicator, providers, overlays))
      checkStated(member, concepts, stated, at, problems);
  }
  return concepts;
}

const conceptOf = (cells: Record<keyof Concept, string | null>): Record<keyof Concept, unknown> => ({
  ...cells,
  // An empty cell stays undefined, and is reported: each concept states its direction.
  higher_is_better:
    cells.higher_is_better === NEITHER_BETTER ? null : (asBoolean(cells.higher_is_better) ?? undefined),
  projected_from: asNumber(cells.projected_from),
});

async function loadSeries(
  dir: string,
  known: ReadonlyMap<string, { concept: Concept }>,
  providers: ReadonlySet<string>,
  problems: Problems,
): Promise<ConceptMember[]> {
  const members = new Map<string, ConceptMember>();
  const file = join(dir, 'concept-series.csv');
  for (const { cells, ...at } of readTable(file, SERIES_COLUMNS, [], problems)) {
    const { factor, deviates, ...rest } = cells;
    const row = { ...rest, factor: asNumber(factor) ?? undefined, deviates: deviates?.split(/\s+/) ?? [] };
    const series = check(conceptSeries, row, at, problems);
    if (series === undefined) continue;
    const { indicator } = series;
    const provider = indicator.slice(0, indicator.indexOf('.'));
    const own = known.get(series.concept)?.concept;
    const other = members.get(indicator)?.concept.id;
    if (!providers.has(provider)) problems.add(at, `${indicator}: there is no provider "${provider}"`);
    if (other !== undefined) problems.add(at, `${indicator} is a series of ${other} already`);
    else if (own === undefined) problems.add(at, `concept: there is no concept "${series.concept}"`);
    else members.set(indicator, { concept: own, series });
  }
  return [...members.values()];
}

interface Statement {
  stated: IndicatorOverlay;
  at: (setting: keyof IndicatorOverlay) => Position;
}

/** What overlay table and definition state on one series, and where. */
function statementsOn(indicator: string, providers: Providers, overlays: OverlayTables): Statement[] {
  const dot = indicator.indexOf('.');
  const [provider, slug] = [indicator.slice(0, dot), indicator.slice(dot + 1)];
  const definition = providers.definitions.get(provider);
  const row = overlays.get(provider)?.get(slug);
  const own = definition?.indicators[slug];
  const year = definition?.projected_from;
  return [
    ...(row ? [{ stated: row.settings, at: () => row.at }] : []),
    ...(own
      ? [{ stated: own, at: (name: PropertyKey) => providers.at(provider, ['indicators', slug, name]) }]
      : []),
    // A provider's own first forecast year would be overruled by that of the concept.
    ...(year === undefined
      ? []
      : [{ stated: { projected_from: year }, at: () => providers.at(provider, ['projected_from']) }]),
  ];
}

function checkStated(
  { concept: own, series: { indicator, deviates } }: ConceptMember,
  concepts: Concepts,
  stated: IndicatorOverlay,
  at: Statement['at'],
  problems: Problems,
): void {
  const expected = concepts.settingsOf(indicator);
  const report = (setting: 'topic' | 'higher_is_better' | 'projected_from' | 'preferred' | 'featured') => {
    const says = setting === 'featured' ? `prefers ${own.preferred}` : `has ${shown(expected[setting])}`;
    const why = setting === 'preferred' ? '' : '; a reason for it belongs in concept-series.csv';
    problems.add(
      at(setting),
      `${indicator}: ${setting} is ${shown(stated[setting])}, but its concept ${own.id} ${says}${why}`,
    );
  };
  for (const setting of ['topic', 'higher_is_better', 'preferred', 'featured'] as const) {
    if (expected[setting] === undefined || stated[setting] === undefined) continue;
    if (stated[setting] !== expected[setting]) report(setting);
  }
  const year = stated.projected_from;
  if (year !== undefined && !deviates.includes('projected_from') && year !== own.projected_from)
    report('projected_from');
}

const shown = (value: unknown): string => (value === null || value === undefined ? 'none' : String(value));

/** The words by which people ask for a concept. */
export interface ConceptWords {
  id: string;
  name: string;
  /** Its series, the preferred one first. */
  series: readonly string[];
  phrases: readonly string[];
}

/**
 * What the gateway needs of concepts to find them, unchecked: names, series, and the phrases of `synonyms.csv`.
 * @param dir the directory of curated data.
 * @returns in the order of `concepts.csv`
 */
export function loadConceptWords(dir: string, problems: Problems): ConceptWords[] {
  const series = Map.groupBy(
    readTable(join(dir, 'concept-series.csv'), SERIES_COLUMNS, [], problems),
    ({ cells }) => cells.concept,
  );
  const concepts = readTable(join(dir, 'concepts.csv'), CONCEPT_COLUMNS, [], problems);
  const phrases = readPhrases(dir, new Set(concepts.map(({ cells }) => cells.id)), problems);
  return concepts.map(({ cells: { id, name, preferred } }) => ({
    id: id ?? '',
    name: name ?? '',
    series: [
      ...new Set([preferred ?? '', ...(series.get(id) ?? []).map(({ cells }) => cells.indicator ?? '')]),
    ],
    phrases: phrases.get(id ?? '') ?? [],
  }));
}

function readPhrases(
  dir: string,
  known: ReadonlySet<string | null>,
  problems: Problems,
): ReadonlyMap<string, readonly string[]> {
  const phrases = new Map<string, readonly string[]>();
  for (const { cells, ...at } of readTable(join(dir, 'synonyms.csv'), ['concept', 'phrases'], [], problems)) {
    const listed = (cells.phrases ?? '').split(';').map((phrase) => phrase.trim());
    if (!known.has(cells.concept)) problems.add(at, `there is no concept "${cells.concept}"`);
    else if (phrases.has(cells.concept ?? '')) problems.add(at, `${cells.concept} is listed twice`);
    else if (listed.includes('')) problems.add(at, 'a phrase is empty');
    else if (new Set(listed).size < listed.length) problems.add(at, 'a phrase is listed twice');
    else phrases.set(cells.concept ?? '', listed);
  }
  return phrases;
}
