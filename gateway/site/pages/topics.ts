/** `/topics` and `/topics/{slug}`: the curated topics, and the indicators of one in their curated order. */
import { z } from 'zod';
import { asHit, listPage, pageNumber, servedTopics } from '../lists.ts';
import { definePage, missingPage, type Shown } from '../page.ts';

/** Examples of a topic, on the page of all. */
const FEATURED = 4;

export const topics = definePage({
  path: '/topics',
  async show({ edition }): Promise<Shown> {
    const [catalogue, all] = [await edition.wholeCatalogue(), await servedTopics(edition)];
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
  query: z.object({ page: pageNumber().optional() }),
  async show({ edition, path: { slug = '' }, query: { page = 1 } }): Promise<Shown> {
    const found = (await servedTopics(edition)).find((one) => one.slug === slug);
    if (found === undefined) return missingPage('topic', slug, { path: '/topics', label: 'All topics' });
    const path = `/topics/${slug}`;
    const items = (await edition.wholeCatalogue()).listed('topic', 'asc', { topic: slug });
    const list = listPage(items, page, path);
    if (list === undefined) return missingPage('page', String(page), { path: path, label: found.name });
    const featured = items.filter(({ record }) => record.featured).map(({ record }) => record);
    return {
      template: 'topic.njk',
      title: found.name + list.suffix,
      description: `${found.description} ${items.length} indicators by country and year.`,
      section: 'topics',
      canonical: list.path,
      data: {
        topic: found,
        featured: page === 1 ? featured : [],
        list: { ...list, items: list.items.map(asHit) },
      },
    };
  },
});
