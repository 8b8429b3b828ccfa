/** GET /countries: the country records, by name. */
import { z } from 'zod';
import { countryRecord } from '../../../../data/schema/records.ts';
import { ROUTE_FILES } from '../../../../data/schema/snapshot.ts';
import { count } from '../envelope.ts';
import { free, freeFile, listDocument, sentOnly } from '../operation.ts';
import { text } from '../parameters/parameters.ts';
import { defineList } from './list-formats.ts';

const ALL = freeFile(ROUTE_FILES.countries);

export const countries = defineList({
  name: 'listCountries',
  path: '/countries',
  tag: 'Catalogue',
  summary: 'Countries',
  description: 'All countries served, ordered by name. A filter that matches nothing gives an empty array.',
  needsKey: false,
  priceText: 'free',
  isCacheable: true,
  pathParameters: {},
  query: z.object({
    region: text().optional().describe('Exact region, case-sensitive'),
    income_group: text().optional().describe('Exact income group, case-sensitive'),
  }),
  record: countryRecord,
  meta: {
    count,
    region: z.string().optional(),
    income_group: z.string().optional(),
  },
  fileName: 'almanac-countries',
  errors: [],
  plan({ snapshot, query: { region, income_group } }) {
    if (region === undefined && income_group === undefined) return ALL;
    const matching = snapshot.countries.filter(
      ({ record }) =>
        (region === undefined || record.region === region) &&
        (income_group === undefined || record.income_group === income_group),
    );
    const meta = {
      generated_at: snapshot.generatedAt,
      count: matching.length,
      ...sentOnly({ region, income_group }),
    };
    return free(
      listDocument(
        matching.map(({ json }) => json),
        meta,
      ),
    );
  },
});
