/** GET /countries: the country records, by name. */
import { z } from 'zod';
import { ROUTE_FILES } from '../../data/schema/snapshot.ts';
import { countriesAnswer } from './answers.ts';
import { defineRoute, freeFile, listBody, sentOnly } from './operation.ts';
import { text } from './parameters.ts';

export const countries = defineRoute({
  template: '/countries',
  operation: 'listCountries',
  tag: 'Catalogue',
  summary: 'Countries',
  description: 'All countries served, ordered by name. A filter that matches nothing gives an empty array.',
  key: 'optional',
  price: 'free',
  tagged: true,
  path: {},
  query: z.object({
    region: text()
      .optional()
      .describe('Exact region, case-sensitive')
      .meta({ example: 'Sub-Saharan Africa' }),
    income_group: text()
      .optional()
      .describe('Exact income group, case-sensitive')
      .meta({ example: 'High income' }),
  }),
  answer: countriesAnswer,
  refusals: [],
  handle({ snapshot, query }) {
    const { region, income_group } = query;
    if (region === undefined && income_group === undefined) return freeFile(ROUTE_FILES.countries);
    const { catalogue } = snapshot;
    const found = catalogue.countries.filter(
      ({ record }) =>
        (region === undefined || record.region === region) &&
        (income_group === undefined || record.income_group === income_group),
    );
    const meta = {
      generated_at: catalogue.generatedAt,
      count: found.length,
      ...sentOnly({ region, income_group }),
    };
    const body = listBody(
      found.map(({ json }) => json),
      meta,
    );
    return { kind: 'answer', body, price: 0, rows: 0 };
  },
});
