/** `/indicators`: the catalogue, searched and ordered as the API does it; `/suggest`: what the search box offers while somebody types. */
import { z } from 'zod';
import type { TopicRecord } from '../../../data/schema/records.ts';
import { oneOf, searchPhrase, text } from '../../api/operations/operations.ts';
import {
  type Catalogue,
  type CatalogueItem,
  type Edition,
  fold,
  SORTS,
  searchIndicators,
} from '../../api/snapshot/snapshot.ts';
import { asHit, listPage, pageNumber, servedTopics, topicName, withQuery } from '../lists.ts';
import { defineAsset, definePage, type Shown } from '../page.ts';

const PATH = '/indicators';

/** The empty word is what a form sends for its first choice. */
const query = z.object({
  q: searchPhrase.optional(),
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
    const filters: Filters = { q: q.trim(), topic, provider, sort };
    const topics = await servedTopics(edition);
    const found = search(await edition.wholeCatalogue(), filters, topics);
    const list = listPage(found.items, page, PATH, { ...filters });
    const isWhole = Object.values(filters).every((filter) => filter === '');
    const title = pageTitle(filters, topics);
    return {
      template: 'indicators.njk',
      title: page === 1 ? title : `${title}, page ${page}`,
      description: `${found.items.length} indicators with unit, provider, years, countries and licence; each with a map, a ranking and its source.`,
      section: 'indicators',
      ...(isWhole && list && { canonical: list.path }),
      ...(list === undefined && { status: 404 }),
      data: {
        title,
        filters,
        ...{ topics: found.topics, providers: found.providers },
        sorts: SORTS.map((id) => ({ id, name: SORT_NAMES[id] })),
        list: list && { ...list, items: list.items.map(asHit) },
        total: found.items.length,
        first: withQuery(PATH, { ...filters }),
        removals: removals(filters, found, topics),
      },
    };
  },
});

function pageTitle({ q, topic }: Filters, topics: readonly TopicRecord[]): string {
  const about = topic === '' ? 'Indicators' : `Indicators: ${topicName(topics, topic)}`;
  return q === '' ? about : `${about} for “${q}”`;
}

type Found = ReturnType<typeof search>;

/** What passes the filters, and how many indicators each choice of a filter leaves beside the others. */
function search(catalogue: Catalogue, { q, topic, provider, sort }: Filters, topics: readonly TopicRecord[]) {
  const matching = searchIndicators(catalogue, {
    ...(q !== '' && { q }),
    ...(sort !== '' && { sort }),
  });
  const hasTopic = ({ record }: CatalogueItem): boolean => topic === '' || record.topic === topic;
  const hasProvider = ({ record }: CatalogueItem): boolean =>
    provider === '' || record.provider.id === provider;
  const byTopic = Map.groupBy(matching.filter(hasProvider), ({ record }) => record.topic);
  const byProvider = Map.groupBy(matching.filter(hasTopic), ({ record }) => record.provider.id);
  return {
    items: matching.filter((item) => hasTopic(item) && hasProvider(item)),
    topics: topics
      .map(({ slug, name }) => ({ id: slug, name, count: byTopic.get(slug)?.length ?? 0 }))
      .filter(({ id, count }) => count > 0 || id === topic),
    providers: [...byProvider]
      .map(([id, items]) => ({ id, name: items[0]?.record.provider.name ?? id, count: items.length }))
      .sort((a, b) => a.name.localeCompare(b.name, 'en')),
  };
}

/** Links that take one filter away. */
function removals(filters: Filters, { providers }: Found, topics: readonly TopicRecord[]) {
  const { q, topic, provider } = filters;
  const without = (name: keyof Filters) => withQuery(PATH, { ...filters, [name]: '' });
  const providerName = providers.find(({ id }) => id === provider)?.name ?? provider;
  return [
    { name: `“${q}”`, isSet: q !== '', href: without('q') },
    { name: topicName(topics, topic), isSet: topic !== '', href: without('topic') },
    { name: providerName, isSet: provider !== '', href: without('provider') },
  ].filter(({ isSet }) => isSet);
}

/** In suggestions. */
const COUNTRIES_MAX = 3;
const INDICATORS_MAX = 8;
const LETTERS_MAX = 100;

interface Suggestion {
  path: string;
  name: string;
  note: string;
}

export const suggest = defineAsset({
  path: '/suggest',
  query: z.object({ q: text().optional() }),
  async make({ edition, query }) {
    const wanted = (query.q ?? '').trim().slice(0, LETTERS_MAX);
    const catalogue = await edition.wholeCatalogue();
    const found =
      wanted === '' ? [] : [...countriesLike(edition, wanted), ...indicatorsLike(catalogue, wanted)];
    return { bytes: Buffer.from(JSON.stringify(found)), mediaType: 'application/json; charset=utf-8' };
  },
});

/** Countries with a word that begins like it. */
function countriesLike({ countries }: Edition, wanted: string): Suggestion[] {
  const begin = fold(wanted);
  const fits = (name: string): boolean => name.startsWith(begin) || name.includes(` ${begin}`);
  return countries
    .filter(({ record }) => fits(fold(record.name)))
    .slice(0, COUNTRIES_MAX)
    .map(({ record: { iso3, name } }) => ({ path: `/countries/${iso3}`, name, note: 'country' }));
}

/** As the catalogue's own search orders them. */
const indicatorsLike = (catalogue: Catalogue, q: string): Suggestion[] =>
  searchIndicators(catalogue, { q })
    .slice(0, INDICATORS_MAX)
    .map(({ record: { id, name, provider } }) => ({ path: `/indicators/${id}`, name, note: provider.name }));
