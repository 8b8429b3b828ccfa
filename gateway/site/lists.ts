/** Lists of indicators on pages: their topics, what is said of each, and numbered pages, each with an address of its own. */
import type { IndicatorRecord, TopicRecord } from '../../data/schema/records.ts';
import { ROUTE_FILES } from '../../data/schema/snapshot.ts';
import { integer } from '../api/operations/operations.ts';
import type { Edition, SeriesHit } from '../api/snapshot/snapshot.ts';

/** Makes something once an edition, and again after a failure. */
export function oncePerEdition<Made>(make: (edition: Edition) => Promise<Made>) {
  const made = new WeakMap<Edition, Promise<Made>>();
  return (edition: Edition): Promise<Made> => {
    const known = made.get(edition) ?? make(edition);
    made.set(edition, known);
    known.catch(() => made.delete(edition));
    return known;
  };
}

/** The topics of the edition, with their names and counts, in the curated order. @throws {SnapshotUnreadable} */
export const servedTopics = oncePerEdition(readTopics);

/** Its slug where the list lacks it. */
export const topicName = (topics: readonly TopicRecord[], slug: string): string =>
  topics.find((topic) => topic.slug === slug)?.name ?? slug;

async function readTopics({ editions }: Edition): Promise<readonly TopicRecord[]> {
  const body = await editions.servedBody(ROUTE_FILES.topics);
  return (JSON.parse(body.toString()) as { data: TopicRecord[] }).data;
}

/** Characters of a description, in a list. */
const EXCERPT_LENGTH = 180;

export interface Hit {
  record: IndicatorRecord;
  path: string;
  /** The beginning of the description; empty without one. */
  excerpt: string;
  /** A further series of the same concept for each other provider. */
  alsoFrom: readonly IndicatorRecord[];
}

/** A series by itself, or one of a concept with its twins. */
type ListedSeries = Pick<SeriesHit, 'record'> & Partial<Pick<SeriesHit, 'twins'>>;

export function asHit({ record, twins = [] }: ListedSeries): Hit {
  const others = Map.groupBy(twins, ({ provider }) => provider.id);
  others.delete(record.provider.id);
  return {
    record,
    path: `/indicators/${record.id}`,
    excerpt: firstWords(record.description ?? ''),
    alsoFrom: [...others.values()].flatMap(([twin]) => twin ?? []),
  };
}

/** Ends at a word. */
export function firstWords(text: string, length = EXCERPT_LENGTH): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  if (line.length <= length) return line;
  const end = line.lastIndexOf(' ', length);
  return `${line.slice(0, end > 0 ? end : length).replace(/[,;:.–-]+$/, '')} …`;
}

/** Characters of a description above the figures. */
const LEAD_LENGTH = 280;

/** Whole sentences that fit, and the rest; where none fits, its beginning and all of it. */
export function splitLead(text: string): { first: string; rest: string } {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  if (line.length <= LEAD_LENGTH) return { first: line, rest: '' };
  const ends = [...line.slice(0, LEAD_LENGTH).matchAll(/[^.][^.\s][.!?](?= [\p{Lu}\d(])/gu)];
  const last = ends.at(-1);
  if (last === undefined) return { first: firstWords(line, LEAD_LENGTH), rest: line };
  const end = last.index + last[0].length;
  return { first: line.slice(0, end), rest: line.slice(end + 1) };
}

export const PAGE_SIZE = 50;
/** Pages on either side of the one that is shown. */
const NEIGHBOURS = 2;

export type Filters = Readonly<Record<string, string | number | undefined>>;

/** A path with those filters that are set. */
export function withQuery(path: string, filters: Filters, changes: Filters = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...filters, ...changes }))
    if (value !== undefined && value !== '') query.set(name, String(value));
  // These need no escape, and people read addresses.
  return query.size === 0 ? path : `${path}?${String(query).replaceAll(/%(2C|3A|40)/g, decodeURIComponent)}`;
}

const PAGE_MAX = 1_000_000;

/** A query parameter. */
export const pageNumber = () => integer({ min: 1, max: PAGE_MAX });

/** A page of a list; undefined behind the last one. @param filters of the list, for the links */
export function listPage<Item>(all: readonly Item[], number: number, path: string, filters: Filters = {}) {
  const last = Math.max(1, Math.ceil(all.length / PAGE_SIZE));
  if (number > last) return undefined;
  const start = (number - 1) * PAGE_SIZE;
  const items = all.slice(start, start + PAGE_SIZE);
  const href = (page: number) => withQuery(path, { ...filters, page: page === 1 ? undefined : page });
  const pages = last === 1 ? [] : shownNumbers(number, last);
  return {
    items,
    number,
    total: all.length,
    /** Position of the first and the last item, from 1; 0 without any. */
    from: items.length === 0 ? 0 : start + 1,
    to: start + items.length,
    path: href(number),
    /** After the title of every page but the first. */
    suffix: number === 1 ? '' : `, page ${number}`,
    /** Links; `href` is null for this page. Empty where all fits one page. */
    pages: pages.map((page, at) => ({
      number: page,
      href: page === number ? null : href(page),
      isAfterGap: page - (pages[at - 1] ?? 0) > 1,
    })),
  };
}

/** The first, the last, and those around the one that is shown. */
function shownNumbers(number: number, last: number): number[] {
  const around = Array.from({ length: 2 * NEIGHBOURS + 1 }, (_, at) => number - NEIGHBOURS + at);
  const all = new Set([1, ...around.filter((page) => page > 1 && page < last), last]);
  return [...all];
}
