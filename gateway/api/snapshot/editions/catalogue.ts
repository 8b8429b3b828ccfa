/**
 * The catalogue in memory: records with their JSON text, one list per order, and the texts that are searched. A list answer picks from an
 * ordered list and joins texts, so no record is serialised twice and the cost depends on the matches only.
 */

import { distance } from 'fastest-levenshtein';
import type { EditableFacts } from '../../../../data/schema/operator-changes.ts';
import type { CountryRecord, IndicatorRecord } from '../../../../data/schema/records.ts';
import {
  compareByName,
  type IndexedIndicator,
  type SeriesOpening,
} from '../../../../data/schema/snapshot.ts';
import type { SeriesMeasure, SeriesTraits } from '../../../../data/schema/traits.ts';

export const SORTS = ['name', 'coverage', 'latest', 'topic', 'source'] as const;
export type Sort = (typeof SORTS)[number];
export const DIRECTIONS = ['asc', 'desc'] as const;
export type Direction = (typeof DIRECTIONS)[number];

export const DEFAULT_DIRECTION: Record<Sort, Direction> = {
  name: 'asc',
  coverage: 'desc',
  latest: 'desc',
  topic: 'asc',
  source: 'asc',
};

/** An indicator, whatever the catalogue. */
export interface CatalogueEntry {
  record: IndicatorRecord;
  /** The record as list answers contain it. */
  json: string;
  hasProjections: boolean;
  topicOrder: number;
  /** What operators edited, as it is without their edits; null without edits. */
  original: EditableFacts | null;
  /** For relevance. */
  foldedName: string;
  traits: Omit<SeriesTraits, 'measured'>;
  /** Null in an edition from before measures were kept. */
  measured: SeriesMeasure | null;
  /** Null for a series without figures, and in an edition from before it was kept. */
  opening: SeriesOpening | null;
}

export interface CatalogueItem extends CatalogueEntry {
  /** Index in name order: the tie-break of every other order. */
  position: number;
}

export interface CountryItem {
  record: CountryRecord;
  json: string;
}

interface IndexedFilter {
  topic?: string | undefined;
  provider?: string | undefined;
}

/** The text of an indicator that is searched. */
const searchedText = ({ record }: CatalogueItem): string =>
  fold(`${record.name}\n${record.id}\n${record.description ?? ''}`);

/** Case-folds and composes letters. */
export const fold = (text: string): string => text.normalize('NFC').toLowerCase();

const NEAREST_MAX = 3;
/** A longer text is no id. */
const LONGEST_ID = 200;

export class Catalogue {
  readonly generatedAt: string;
  readonly countries: readonly CountryItem[];
  readonly countriesByCode: ReadonlyMap<string, CountryRecord>;
  readonly indicators: ReadonlyMap<string, CatalogueItem>;
  readonly #orders = new Map<string, readonly CatalogueItem[]>();
  readonly #byName: readonly CatalogueItem[];
  #texts: readonly string[] | null = null;

  constructor(
    generatedAt: string,
    countries: readonly CountryRecord[],
    indicators: Iterable<Readonly<CatalogueEntry>>,
  ) {
    this.generatedAt = generatedAt;
    this.countries = countries.map((record) => ({ record, json: JSON.stringify(record) }));
    this.countriesByCode = new Map(countries.map((record) => [record.iso3, record]));
    this.#byName = [...indicators]
      .sort((a, b) => compareByName(a.record, b.record))
      .map((entry, position) => ({ ...entry, position }));
    this.indicators = new Map(this.#byName.map((item) => [item.record.id, item]));
  }

  /** Names, ids and descriptions by `position`; made when first wanted. */
  get texts(): readonly string[] {
    this.#texts ??= this.#byName.map(searchedText);
    return this.#texts;
  }

  /** The ids that are spelt most like one that none has, nearest first; that of the provider may be left out. */
  nearestIds(asked: string): string[] {
    const sent = asked.toLowerCase();
    const wrong_max = Math.max(1, Math.floor(sent.length / 4));
    if (sent.length > LONGEST_ID) return [];
    const wrongIn = (id: string): number =>
      Math.abs(id.length - sent.length) > wrong_max ? Number.POSITIVE_INFINITY : distance(sent, id);
    return this.#byName
      .map(({ record: { id } }) => {
        const own = id.toLowerCase();
        return { id, wrong: Math.min(wrongIn(own), wrongIn(own.slice(own.indexOf('.') + 1))) };
      })
      .filter(({ wrong }) => wrong <= wrong_max)
      .sort((a, b) => a.wrong - b.wrong)
      .slice(0, NEAREST_MAX)
      .map(({ id }) => id);
  }

  /** All indicators in one order; in both directions, ties are by name ascending and missing keys come last. */
  ordered(sort: Sort, direction: Direction): readonly CatalogueItem[] {
    const name = `${sort} ${direction}`;
    const known = this.#orders.get(name);
    if (known) return known;
    const order = this.#byName.toSorted(comparator(sort, direction));
    this.#orders.set(name, order);
    return order;
  }

  /** The indicators of a topic, of a provider or of both, in one order. */
  listed(sort: Sort, direction: Direction, { topic, provider }: IndexedFilter): readonly CatalogueItem[] {
    const all = this.ordered(sort, direction);
    if (topic === undefined && provider === undefined) return all;
    return all.filter(
      ({ record }) =>
        (topic === undefined || record.topic === topic) &&
        (provider === undefined || record.provider.id === provider),
    );
  }
}

const NO_TRAITS: CatalogueEntry['traits'] = {
  concept: null,
  sex: null,
  age: null,
  unit: null,
  scale: 0,
  variants: [],
};

export function toEntry({
  record,
  topic_order,
  has_projections,
  original,
  traits,
  opening,
}: IndexedIndicator): CatalogueEntry {
  return {
    record,
    json: JSON.stringify(record),
    hasProjections: has_projections,
    topicOrder: topic_order,
    original: original ?? null,
    foldedName: fold(record.name),
    traits: traits ?? NO_TRAITS,
    measured: traits?.measured ?? null,
    opening: opening ?? null,
  };
}

type Key = number | string | null;
type Comparator = (a: CatalogueItem, b: CatalogueItem) => number;

const KEY_OF: Record<Exclude<Sort, 'name'>, (item: CatalogueItem) => Key> = {
  coverage: ({ record }) => record.coverage?.n_countries ?? null,
  latest: ({ record }) => record.coverage?.latest_year ?? null,
  topic: ({ record }) => record.topic,
  source: ({ record }) => record.provider.id,
};

function compareKeys(a: Key, b: Key, sign: 1 | -1): number {
  if (a === b) return 0;
  if (a === null) return 1;
  if (b === null) return -1;
  return a < b ? -sign : sign;
}

function comparator(sort: Sort, direction: Direction): Comparator {
  const sign = direction === 'asc' ? 1 : -1;
  if (sort === 'name') return byName(sign);
  const key = KEY_OF[sort];
  // `dir` reverses the topics, but not the curated order within a topic.
  const within: Comparator = sort === 'topic' ? (a, b) => a.topicOrder - b.topicOrder : () => 0;
  return (a, b) => compareKeys(key(a), key(b), sign) || within(a, b) || a.position - b.position;
}

/** Equal names are ordered by id, ascending in both directions. */
function byName(sign: 1 | -1): Comparator {
  return (a, b) =>
    a.record.name === b.record.name ? a.position - b.position : sign * (a.position - b.position);
}
