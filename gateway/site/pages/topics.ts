/** `/topics` and `/topics/{slug}`: the curated topics, and the indicators of one in their curated order. */
import { z } from 'zod';
import { integer } from '../../api/operations/parameters/parameters.ts';
import { hitOf } from '../hits.ts';
import { missingPage } from '../missing.ts';
import { definePage, type Shown } from '../page.ts';
import { listPage, withQuery } from '../paging.ts';
import { topicsOf } from '../topics.ts';

/** Of a topic, on the page of all. */
const FEATURED = 4;
const PAGE_MAX = 1_000_000;

export const topics = definePage({
  path: '/topics',
  async show({ edition }): Promise<Shown> {
    const [catalogue, all] = [await edition.wholeCatalogue(), await topicsOf(edition)];
    return {
      template: 'topics.njk',
      title: 'Topics',
      description: `Country statistics by topic: ${all.map(({ name }) => name).join(', ')}.`,
      section: 'topics',
      canonical: '/topics',
      data: {
        topics: all.map((topic) => {
          const items = catalogue.listed('topic', 'asc', { topic: topic.slug });
          const featured = items.filter(({ record }) => record.featured);
          return { ...topic, examples: (featured.length > 0 ? featured : items).slice(0, FEATURED) };
        }),
      },
    };
  },
});

export const topic = definePage({
  path: '/topics/{slug}',
  pathParameters: { slug: { description: 'Slug of the topic', schema: { minLength: 1 } } },
  query: z.object({ page: integer({ min: 1, max: PAGE_MAX }).optional() }),
  async show({ edition, path: { slug = '' }, query: { page = 1 } }): Promise<Shown> {
    const found = (await topicsOf(edition)).find((one) => one.slug === slug);
    if (found === undefined) return missingPage('topic', slug, { path: '/topics', label: 'All topics' });
    const path = `/topics/${slug}`;
    const items = (await edition.wholeCatalogue()).listed('topic', 'asc', { topic: slug });
    const list = listPage(items, page, path);
    if (list === undefined) return missingPage('page', String(page), { path: path, label: found.name });
    const featured = items.filter(({ record }) => record.featured).map(({ record }) => record);
    return {
      template: 'topic.njk',
      title: page === 1 ? found.name : `${found.name}, page ${page}`,
      description: `${found.description} ${items.length} indicators by country and year.`,
      section: 'topics',
      canonical: withQuery(path, { page: page === 1 ? undefined : page }),
      data: {
        topic: found,
        featured: page === 1 ? featured : [],
        list: { ...list, items: list.items.map(hitOf) },
      },
    };
  },
});
