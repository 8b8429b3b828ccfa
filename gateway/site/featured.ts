/** Pages that are rendered before anyone asks for them: what visitors see first, and the indicators that it leads to. */
import type { IndicatorRecord } from '../../data/schema/records.ts';
import type { PageAddress } from '../api/http/api/page-warming.ts';
import type { Catalogue } from '../api/snapshot/editions/catalogue.ts';
import type { Edition } from '../api/snapshot/editions/edition.ts';
import { indicator } from './pages/indicator.ts';

/** They take a tenth of the response cache, and so many compile most of what renders pages. */
const INDICATORS_MAX = 60;

export async function featuredPages(edition: Edition): Promise<PageAddress[]> {
  const indicators = featuredIndicators(await edition.wholeCatalogue());
  return [
    { template: '/', parameters: {} },
    ...indicators.map(({ id }) => ({ template: indicator.path, parameters: { indicator_id: id } })),
  ];
}

/** Featured ones and those preferred among series of one concept, then others; each by coverage. */
export const featuredIndicators = (catalogue: Catalogue): IndicatorRecord[] =>
  catalogue
    .ordered('coverage', 'desc')
    .map(({ record }) => record)
    .toSorted((a, b) => Number(isFeatured(b)) - Number(isFeatured(a)))
    .slice(0, INDICATORS_MAX);

const isFeatured = ({ featured, preferred }: IndicatorRecord): boolean => featured || preferred;
