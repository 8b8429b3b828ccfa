/** `/providers` and `/providers/{provider_id}`: who publishes the figures, under which terms, and how fresh they are. */
import { z } from 'zod';
import type { FreshnessRecord, ProviderCredit } from '../../../data/schema/records.ts';
import { type Catalogue, type CatalogueItem, freshnessOf } from '../../api/snapshot/snapshot.ts';
import { asHit, listPage, pageNumber, servedTopics, topicName, withQuery } from '../lists.ts';
import { definePage, missingPage, type Shown } from '../page.ts';

export const providers = definePage({
  path: '/providers',
  async show({ edition }): Promise<Shown> {
    const [catalogue, freshness] = [await edition.wholeCatalogue(), await freshnessOf(edition)];
    const listed = freshness.flatMap((record) => {
      const items = listIndicators(catalogue, record.provider_id);
      const [first] = items;
      return first === undefined
        ? []
        : [{ credit: first.record.provider, freshness: record, indicators: items.length }];
    });
    return {
      template: 'providers.njk',
      title: 'Providers',
      description: `The sources of all figures: ${listed.map(({ credit }) => credit.name).join(', ')}; their licences, credit lines and when they were last loaded.`,
      section: 'none',
      canonical: '/providers',
      data: { providers: listed.sort((a, b) => b.indicators - a.indicators) },
    };
  },
});

export const provider = definePage({
  path: '/providers/{provider_id}',
  query: z.object({ page: pageNumber().optional() }),
  async show({ edition, path: { provider_id: id = '' }, query: { page = 1 } }): Promise<Shown> {
    const items = listIndicators(await edition.wholeCatalogue(), id);
    const [first] = items;
    if (first === undefined)
      return missingPage('provider', id, { path: '/providers', label: 'All providers' });
    const credit = first.record.provider;
    const path = `/providers/${id}`;
    const list = listPage(items, page, path);
    if (list === undefined) return missingPage('page', String(page), { path: path, label: credit.name });
    const freshness = (await freshnessOf(edition)).find(({ provider_id }) => provider_id === id);
    const topics = await servedTopics(edition);
    return {
      template: 'provider.njk',
      title: credit.name + list.suffix,
      description: `${items.length} indicators of ${credit.name}: licence, credit line, and how fresh they are.`,
      section: 'none',
      canonical: list.path,
      structured: structuredCatalogue(credit, items.length),
      data: {
        provider: credit,
        freshness: freshness === undefined ? null : shownFreshness(freshness),
        licences: countLicences(items),
        topics: countsBy(items, ({ record }) => record.topic).map(([slug, count]) => ({
          name: topicName(topics, slug),
          href: withQuery('/indicators', { provider: id, topic: slug }),
          count,
        })),
        list: { ...list, items: list.items.map(asHit) },
      },
    };
  },
});

const listIndicators = (catalogue: Catalogue, provider: string): readonly CatalogueItem[] =>
  catalogue.listed('name', 'asc', { provider });

const shownFreshness = ({ upstream, ...record }: FreshnessRecord) => ({
  ...record,
  upstream: upstream.map(({ name, url = null, note = null }) => ({ name, url, note })),
});

/** Most frequent first. */
function countsBy(
  items: readonly CatalogueItem[],
  keyOf: (item: CatalogueItem) => string,
): [string, number][] {
  const groups = Map.groupBy(items, keyOf);
  return [...groups].map(([key, group]): [string, number] => [key, group.length]).sort((a, b) => b[1] - a[1]);
}

const countLicences = (items: readonly CatalogueItem[]) =>
  [...Map.groupBy(items, ({ record }) => `${record.licence}\n${record.access_tier}`).values()]
    .flatMap((group) => {
      const record = group[0]?.record;
      return record ? [{ record, count: group.length }] : [];
    })
    .sort((a, b) => b.count - a.count);

const structuredCatalogue = ({ name, licence_url }: ProviderCredit, indicators: number): object => ({
  '@context': 'https://schema.org',
  '@type': 'DataCatalog',
  name: `Indicators of ${name}`,
  description: `${indicators} indicators of ${name}, by country and year.`,
  creator: { '@type': 'Organization', name },
  ...(licence_url !== null && { license: licence_url }),
});
