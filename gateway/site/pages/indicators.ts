/** `/indicators`: the catalogue, or what the search finds in it by words, narrowed to a topic and a provider. */
import { z } from 'zod';
import type { IndicatorRecord, TopicRecord } from '../../../data/schema/records.ts';
import { findSeries, oneOf, text } from '../../api/operations/operations.ts';
import {
  type Catalogue,
  type CatalogueItem,
  type SeriesHit,
  SORTS,
  searchIndicators,
} from '../../api/snapshot/snapshot.ts';
import { asHit, listPage, pageNumber, servedTopics, topicName, withQuery } from '../lists.ts';
import { pathsWithNamed, placeLinks, placesFor } from '../named-places.ts';
import { definePage, type Shown } from '../page.ts';

const PATH = '/indicators';
/** Longer words are cut rather than refused. */
const LETTERS_MAX = 500;
const FIND = { limit: 500, isTyping: true };

/** The empty word is what a form sends for its first choice. */
const query = z.object({
  q: text().optional(),
  topic: text().optional(),
  provider: text().optional(),
  sort: oneOf(['', ...SORTS]).optional(),
  page: pageNumber().optional(),
});
type Sent = z.infer<typeof query>;

interface Filters {
  q: string;
  topic: string;
  provider: string;
  sort: Exclude<Sent['sort'], undefined>;
}

const SORT_NAMES: Readonly<Record<(typeof SORTS)[number], string>> = {
  name: 'Name',
  coverage: 'Most countries',
  latest: 'Newest figures',
  topic: 'Topic',
  source: 'Provider',
};

export const indicators = definePage({
  path: PATH,
  query,
  async show({ edition, query: sent }): Promise<Shown> {
    const { page = 1 } = sent;
    const { q = '', topic = '', provider = '', sort = '' } = sent;
    const filters: Filters = { q: q.trim().slice(0, LETTERS_MAX), topic, provider, sort };
    const topics = await servedTopics(edition);
    const catalogue = await edition.wholeCatalogue();
    const all = filters.q === '' ? wholeList(catalogue) : await findSeries(edition, filters.q, FIND);
    const found = narrow(all.hits, filters, topics);
    const hits = sort === '' ? found.hits : ordered(found.hits, searchIndicators(catalogue, { sort }));
    const pathOf = await pathsWithNamed(edition, all);
    const list = listPage(hits, page, PATH, { ...filters });
    const isWhole = Object.values(filters).every((filter) => filter === '');
    const title = pageTitle(filters, topics);
    return {
      template: 'indicators.njk',
      title: page === 1 ? title : `${title}, page ${page}`,
      description: `${hits.length} indicators with unit, provider, years, countries and licence; each with a map, a ranking and its source.`,
      section: 'indicators',
      ...(isWhole && list && { canonical: list.path }),
      ...(list === undefined && { status: 404 }),
      data: {
        title,
        filters,
        topics: found.topics,
        providers: found.providers,
        sorts: SORTS.map((id) => ({ id, name: SORT_NAMES[id] })),
        list: list && {
          ...list,
          items: list.items.map((hit) => ({ ...asHit(hit), path: pathOf(hit.record) })),
        },
        total: hits.length,
        isOnlyClose: hits.length > 0 && hits.every(({ match }) => match === 'weak'),
        first: withQuery(PATH, { ...filters }),
        removals: removals(filters, found, topics),
        places: placeLinks(all.hits.length === 0 ? placesFor(edition, filters.q, all) : all),
        instead: {
          nearest: all.nearest.map((word) => ({ word, path: withQuery(PATH, { q: word }) })),
          unfiltered: { count: all.hits.length, path: withQuery(PATH, { q: filters.q }) },
          topics,
        },
      },
    };
  },
});

/** A series by itself, or the first that passes of those of a concept. */
type Listed = Pick<SeriesHit, 'record' | 'twins' | 'match'>;

/** Every series, by name. */
function wholeList(catalogue: Catalogue) {
  const hits = searchIndicators(catalogue, {}).map(
    ({ record }): Listed => ({ record, twins: [], match: 'good' }),
  );
  return { hits, countries: [], groups: [], years: [], nearest: [] };
}

function ordered(hits: readonly Listed[], order: readonly CatalogueItem[]): Listed[] {
  const positions = new Map(order.map(({ record }, at) => [record.id, at]));
  const positionOf = ({ record }: Listed): number => positions.get(record.id) ?? positions.size;
  return hits.toSorted((a, b) => positionOf(a) - positionOf(b));
}

function pageTitle({ q, topic }: Filters, topics: readonly TopicRecord[]): string {
  const about = topic === '' ? 'Indicators' : `Indicators: ${topicName(topics, topic)}`;
  return q === '' ? about : `${about} for “${q}”`;
}

type Narrowed = ReturnType<typeof narrow>;

/** What passes the filters, and how many hits each choice of a filter leaves beside the others. Any series of a concept may pass. */
function narrow(all: readonly Listed[], { topic, provider }: Filters, topics: readonly TopicRecord[]) {
  const hasTopic = (record: IndicatorRecord): boolean => topic === '' || record.topic === topic;
  const hasProvider = (record: IndicatorRecord): boolean =>
    provider === '' || record.provider.id === provider;
  const hits = all.flatMap(({ match, ...hit }): Listed[] => {
    const [record, ...twins] = seriesOf(hit).filter((one) => hasTopic(one) && hasProvider(one));
    return record === undefined ? [] : [{ record, twins, match }];
  });
  const byTopic = countBy(all, hasProvider, (record) => record.topic);
  const byProvider = countBy(all, hasTopic, (record) => record.provider.id);
  const names = new Map(all.flatMap(seriesOf).map(({ provider: { id, name } }) => [id, name]));
  if (provider !== '' && !names.has(provider)) names.set(provider, provider);
  return {
    hits,
    topics: topics
      .map(({ slug, name }) => ({ id: slug, name, count: byTopic.get(slug) ?? 0 }))
      .filter(({ id, count }) => count > 0 || id === topic),
    providers: [...names]
      .map(([id, name]) => ({ id, name, count: byProvider.get(id) ?? 0 }))
      .filter(({ id, count }) => count > 0 || id === provider)
      .sort((a, b) => a.name.localeCompare(b.name, 'en')),
  };
}

const seriesOf = ({ record, twins }: Pick<Listed, 'record' | 'twins'>): IndicatorRecord[] => [
  record,
  ...twins,
];

/** How many hits have a series of each kind that passes. */
function countBy(
  all: readonly Listed[],
  passes: (record: IndicatorRecord) => boolean,
  kindOf: (record: IndicatorRecord) => string,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const hit of all)
    for (const kind of new Set(seriesOf(hit).filter(passes).map(kindOf)))
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** Links that take one filter away. */
function removals(filters: Filters, { providers }: Narrowed, topics: readonly TopicRecord[]) {
  const { q, topic, provider } = filters;
  const without = (name: keyof Filters) => withQuery(PATH, { ...filters, [name]: '' });
  const providerName = providers.find(({ id }) => id === provider)?.name ?? provider;
  return [
    { name: `“${q}”`, isSet: q !== '', href: without('q') },
    { name: topicName(topics, topic), isSet: topic !== '', href: without('topic') },
    { name: providerName, isSet: provider !== '', href: without('provider') },
  ].filter(({ isSet }) => isSet);
}
