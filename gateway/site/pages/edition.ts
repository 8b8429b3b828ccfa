/** `/editions/{edition_id}`: what the citation of an edition, or of a provider in it, leads to: its series, each with its page. */
import { z } from 'zod';
import { findEdition, text } from '../../api/operations/operations.ts';
import { listPage, pageNumber, withQuery } from '../lists.ts';
import { definePage, missingPage, type Shown } from '../page.ts';

export const editionPage = definePage({
  path: '/editions/{edition_id}',
  query: z.object({ provider: text().optional(), page: pageNumber().optional() }),
  async show({ edition: served, path: { edition_id = '' }, query: { provider, page = 1 } }): Promise<Shown> {
    const home = { path: '/indicators', label: 'The indicators of today' };
    const found = findEdition({ sent: edition_id, edition: { id: edition_id } }, served.editions);
    if ('kind' in found) return missingPage('edition', edition_id, home);
    const edition = await served.editions.open(found);
    const items = (await edition.wholeCatalogue()).listed('name', 'asc', { provider });
    const [first] = items;
    if (first === undefined) return missingPage('provider', provider ?? '', home);
    const address = `/editions/${edition.id}`;
    const list = listPage(items, page, address, { provider });
    if (list === undefined)
      return missingPage('page', String(page), { path: withQuery(address, { provider }), label: edition.id });
    const credit = provider === undefined ? null : first.record.provider;
    const what = credit === null ? 'Country statistics' : `Indicators of ${credit.name}`;
    return {
      template: 'edition.njk',
      title: `${what}, edition ${edition.id}${list.suffix}`,
      description: `The ${items.length} indicators of edition ${edition.id}, as they were cited.`,
      section: 'indicators',
      data: {
        what,
        credit,
        list,
        cited: edition.id,
        citedAt: edition.generatedAt,
        isServed: edition.id === served.id,
        call: withQuery('/v1/indicators', { provider, as_of: edition.id }),
      },
    };
  },
});
