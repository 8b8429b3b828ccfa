/** Pages that are rendered before anyone asks for them: what visitors see first, and the indicators that it leads to. */
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import type { PageAddress } from '../../page-warming.ts';
import type { Catalogue } from '../../snapshot/catalogue.ts';
import type { Edition } from '../../snapshot/edition.ts';
import { indicator } from './pages/indicator.ts';

/** They take a tenth of the response cache. */
const INDICATORS_MAX = 60;

export async function featuredPages(edition: Edition): Promise<PageAddress[]> {
  const indicators = featuredIndicators(await edition.wholeCatalogue());
  return [
    { template: '/', parameters: {} },
    ...indicators.map(({ id }) => ({ template: indicator.path, parameters: { indicator_id: id } })),
  ];
}

/** Those that are featured or preferred among series of one concept, by coverage. */
export const featuredIndicators = (catalogue: Catalogue): IndicatorRecord[] =>
  catalogue
    .ordered('coverage', 'desc')
    .map(({ record }) => record)
    .filter(({ featured, preferred }) => featured || preferred)
    .slice(0, INDICATORS_MAX);
