/**
 * The catalogue in memory: every record with its JSON text beside it, the list in each order it can be asked in, and
 * where each word occurs. What a page or a search costs depends on what it finds, hardly on how much there is.
 *
 * A list answer picks from an ordered list and joins texts: no record is serialised twice.
 */

import type { CountryRecord, IndicatorRecord } from '../../data/schema/records.ts';
import {
  type CatalogueIndex,
  catalogueIndex,
  compareByName,
  type IndexedIndicator,
} from '../../data/schema/snapshot.ts';
import { WordIndex } from './word-index.ts';

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

export interface CatalogueItem {
  record: IndicatorRecord;
  /** The record as it stands in a list answer. */
  json: string;
  hasProjections: boolean;
  topicOrder: number;
  /** Place in name order: the tie-break of every other order. */
  position: number;
  /** For the order of what a search found. */
  foldedName: string;
}

export interface CountryItem {
  record: CountryRecord;
  json: string;
}

/** What a list may be narrowed to by look-up alone. */
export interface Shelf {
  topic?: string | undefined;
  provider?: string | undefined;
}

/** All that is searched of an indicator. */
const searchedText = ({ record }: CatalogueItem): string =>
  fold(`${record.name}\n${record.id}\n${record.description ?? ''}`);

/** Search ignores case and the difference between composed and decomposed letters. */
export const fold = (text: string): string => text.normalize('NFC').toLowerCase();

export class Catalogue {
  readonly generatedAt: string;
  readonly countries: readonly CountryItem[];
  readonly countriesByCode: ReadonlyMap<string, CountryRecord>;
  readonly indicators: ReadonlyMap<string, CatalogueItem>;
  readonly #orders = new Map<string, readonly CatalogueItem[]>();
  readonly #shelves = new Map<string, Map<string, CatalogueItem[]>>();
  readonly #byName: readonly CatalogueItem[];
  /** Names, ids and descriptions by `position`. */
  readonly words: WordIndex;

  constructor(index: CatalogueIndex) {
    this.generatedAt = index.generated_at;
    this.countries = index.countries.map((record) => ({ record, json: JSON.stringify(record) }));
    this.countriesByCode = new Map(index.countries.map((record) => [record.iso3, record]));
    this.#byName = index.indicators.toSorted((a, b) => compareByName(a.record, b.record)).map(toItem);
    this.indicators = new Map(this.#byName.map((item) => [item.record.id, item]));
    this.words = new WordIndex(this.#byName.map(searchedText));
  }

  /** @throws {ZodError} when the text is no catalogue of the known shape. */
  static parse(text: string): Catalogue {
    return new Catalogue(catalogueIndex.parse(JSON.parse(text)));
  }

  /** All indicators in one order; ties by name ascending, missing keys last, whatever the direction. */
  ordered(sort: Sort, direction: Direction): readonly CatalogueItem[] {
    const name = `${sort} ${direction}`;
    const known = this.#orders.get(name);
    if (known) return known;
    const order = this.#byName.toSorted(comparator(sort, direction));
    this.#orders.set(name, order);
    return order;
  }

  /** The indicators of a topic, of a provider or of both, in one order. */
  listed(sort: Sort, direction: Direction, { topic, provider }: Shelf): readonly CatalogueItem[] {
    if (topic === undefined && provider === undefined) return this.ordered(sort, direction);
    if (topic === undefined) return this.#shelf('provider', provider ?? '', sort, direction);
    const own = this.#shelf('topic', topic, sort, direction);
    return provider === undefined ? own : own.filter(({ record }) => record.provider.id === provider);
  }

  #shelf(by: keyof Shelf, label: string, sort: Sort, direction: Direction): readonly CatalogueItem[] {
    const name = `${by} ${sort} ${direction}`;
    const known =
      this.#shelves.get(name) ??
      Map.groupBy(this.ordered(sort, direction), ({ record }) =>
        by === 'topic' ? record.topic : record.provider.id,
      );
    this.#shelves.set(name, known);
    return known.get(label) ?? [];
  }
}

function toItem({ record, topic_order, has_projections }: IndexedIndicator, position: number): CatalogueItem {
  return {
    record,
    json: JSON.stringify(record),
    hasProjections: has_projections,
    topicOrder: topic_order,
    position,
    foldedName: fold(record.name),
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
  // A direction turns the topics round; the curated order within a topic reads the same way up in both.
  const within: Comparator = sort === 'topic' ? (a, b) => a.topicOrder - b.topicOrder : () => 0;
  return (a, b) => compareKeys(key(a), key(b), sign) || within(a, b) || a.position - b.position;
}

/** Equal names stand by id, ascending in both directions. */
function byName(sign: 1 | -1): Comparator {
  return (a, b) =>
    a.record.name === b.record.name ? a.position - b.position : sign * (a.position - b.position);
}
