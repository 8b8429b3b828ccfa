/** `/indicators`: the catalogue, searched and ordered as the API does it. */
import { z } from 'zod';
import type { IndicatorRecord, TopicRecord } from '../../../data/schema/records.ts';
import { searchPhrase } from '../../api/operations/catalogue/indicators.ts';
import { integer, oneOf, text } from '../../api/operations/parameters/parameters.ts';
import { type Catalogue, type CatalogueItem, SORTS } from '../../api/snapshot/editions/catalogue.ts';
import { searchIndicators } from '../../api/snapshot/search/search.ts';
import { hitOf } from '../hits.ts';
import { definePage, type Shown } from '../page.ts';
import { listPage, withQuery } from '../paging.ts';
import { topicName, topicsOf } from '../topics.ts';

const PATH = '/indicators';
const PAGE_MAX = 1_000_000;

/** The empty word is what a form sends for its first choice. */
const query = z.object({
  q: searchPhrase.optional(),
  topic: text().optional(),
  provider: text().optional(),
  sort: oneOf(['', ...SORTS]).optional(),
  page: integer({ min: 1, max: PAGE_MAX }).optional(),
});
type Sent = z.infer<typeof query>;

interface Filters {
  q: string;
  topic: string;
  provider: string;
  sort: Exclude<Sent['sort'], undefined>;
}

/** A choice of a filter with how many indicators it leaves. */
interface Choice {
  id: string;
  name: string;
  count: number;
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
    const topics = await topicsOf(edition);
    const found = search(await edition.wholeCatalogue(), filters, topics);
    const list = listPage(found.items, page, PATH, { ...filters });
    const isWhole = Object.values(filters).every((filter) => filter === '');
    const title = titleOf(filters, topics);
    return {
      template: 'indicators.njk',
      title: page === 1 ? title : `${title}, page ${page}`,
      description: `${found.items.length} indicators with unit, provider, years, countries and licence; each with a map, a ranking and its source.`,
      section: 'indicators',
      ...(isWhole && list && { canonical: withQuery(PATH, { page: page === 1 ? undefined : page }) }),
      ...(list === undefined && { status: 404 }),
      data: {
        title,
        filters,
        ...{ topics: found.topics, providers: found.providers },
        sorts: SORTS.map((id) => ({ id, name: SORT_NAMES[id] })),
        list: list && { ...list, items: list.items.map(hitOf) },
        total: found.items.length,
        first: withQuery(PATH, { ...filters }),
        removals: removals(filters, found, topics),
      },
    };
  },
});

function titleOf({ q, topic }: Filters, topics: readonly TopicRecord[]): string {
  const about = topic === '' ? 'Indicators' : `Indicators: ${topicName(topics, topic)}`;
  return q === '' ? about : `${about} for “${q}”`;
}

interface Found {
  items: readonly CatalogueItem[];
  /** Those of the indicators that pass the other filters. */
  topics: readonly Choice[];
  providers: readonly Choice[];
}

function search(
  catalogue: Catalogue,
  { q, topic, provider, sort }: Filters,
  topics: readonly TopicRecord[],
): Found {
  const matching = searchIndicators(catalogue, {
    ...(q !== '' && { q }),
    ...(sort !== '' && { sort }),
  });
  const items: CatalogueItem[] = [];
  const ofTopic = new Map<string, number>();
  const ofProvider = new Map<string, { name: string; count: number }>();
  for (const item of matching) {
    const { record } = item;
    const hasTopic = topic === '' || record.topic === topic;
    const hasProvider = provider === '' || record.provider.id === provider;
    if (hasProvider) ofTopic.set(record.topic, (ofTopic.get(record.topic) ?? 0) + 1);
    if (hasTopic) countProvider(ofProvider, record);
    if (hasTopic && hasProvider) items.push(item);
  }
  return {
    items,
    topics: topics
      .map(({ slug, name }) => ({ id: slug, name, count: ofTopic.get(slug) ?? 0 }))
      .filter(({ id, count }) => count > 0 || id === topic),
    providers: [...ofProvider]
      .map(([id, { name, count }]) => ({ id, name, count }))
      .sort((a, b) => a.name.localeCompare(b.name, 'en')),
  };
}

function countProvider(counts: Map<string, { name: string; count: number }>, { provider }: IndicatorRecord) {
  const known = counts.get(provider.id);
  if (known === undefined) counts.set(provider.id, { name: provider.name, count: 1 });
  else known.count += 1;
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
