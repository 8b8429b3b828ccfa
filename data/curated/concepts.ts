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
import {
  asBoolean,
  asNumber,
  checkedRows,
  checkProvider,
  columnsOf,
  type Position,
  type Problems,
  readTable,
  splitCell,
} from './table.ts';

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
export function loadConcepts(
  dir: string,
  providers: Providers,
  overlays: OverlayTables,
  problems: Problems,
): Concepts {
  const known = new Map<string, { concept: Concept; at: Position }>();
  const rows = checkedRows(concept, join(dir, 'concepts.csv'), problems, (cells) => ({
    ...cells,
    // An empty cell stays undefined, and is reported: each concept states its direction.
    higher_is_better:
      cells.higher_is_better === NEITHER_BETTER ? null : (asBoolean(cells.higher_is_better) ?? undefined),
    projected_from: asNumber(cells.projected_from),
  }));
  for (const { row, ...at } of rows) {
    if (known.has(row.id)) problems.add(at, `${row.id} is listed twice`);
    else known.set(row.id, { concept: row, at });
  }
  const concepts = new Concepts(loadSeries(dir, known, providers.named, problems));
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

function loadSeries(
  dir: string,
  known: ReadonlyMap<string, { concept: Concept }>,
  providers: ReadonlySet<string>,
  problems: Problems,
): ConceptMember[] {
  const members = new Map<string, ConceptMember>();
  const file = join(dir, 'concept-series.csv');
  const rows = checkedRows(conceptSeries, file, problems, ({ factor, deviates, ...rest }) => ({
    ...rest,
    factor: asNumber(factor) ?? undefined,
    deviates: deviates?.split(/\s+/) ?? [],
  }));
  for (const { row: series, ...at } of rows) {
    const { indicator } = series;
    const own = known.get(series.concept)?.concept;
    const other = members.get(indicator)?.concept.id;
    checkProvider(indicator, providers, at, problems);
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
  const report = (setting: keyof IndicatorOverlay) => {
    const says = setting === 'featured' ? `prefers ${own.preferred}` : `has ${shown(expected[setting])}`;
    const why = setting === 'preferred' ? '' : '; a reason for it belongs in concept-series.csv';
    const stands = `${indicator}: ${setting} is ${shown(stated[setting])}`;
    problems.add(at(setting), `${stands}, but its concept ${own.id} ${says}${why}`);
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

/**
 * What the gateway needs of concepts to find them, unchecked: names, series, and the phrases of `synonyms.csv`.
 * @param dir the directory of curated data.
 * @returns in the order of `concepts.csv`
 */
export function loadConceptWords(dir: string, problems: Problems) {
  const series = Map.groupBy(
    readTable(join(dir, 'concept-series.csv'), columnsOf(conceptSeries), [], problems),
    ({ cells }) => cells.concept,
  );
  const concepts = readTable(join(dir, 'concepts.csv'), columnsOf(concept), [], problems);
  const phrases = readPhrases(dir, new Set(concepts.map(({ cells }) => cells.id)), problems);
  return concepts.map(({ cells: { id, name, preferred } }) => ({
    id: id ?? '',
    name: name ?? '',
    /** Its series, the preferred one first. */
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
    const listed = splitCell(cells.phrases);
    if (!known.has(cells.concept)) problems.add(at, `there is no concept "${cells.concept}"`);
    else if (phrases.has(cells.concept ?? '')) problems.add(at, `${cells.concept} is listed twice`);
    else if (listed.includes('')) problems.add(at, 'a phrase is empty');
    else if (new Set(listed).size < listed.length) problems.add(at, 'a phrase is listed twice');
    else phrases.set(cells.concept ?? '', listed);
  }
  return phrases;
}
