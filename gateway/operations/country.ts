/** GET /countries/{iso3}: one country with its latest values by topic. */
import { z } from 'zod';
import { countryFile } from '../../data/schema/snapshot.ts';
import { selectItems } from '../snapshot/country-items.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { countryAnswer } from './answers.ts';
import { defineRoute, jsonBody, type Outcome, sentOnly } from './operation.ts';
import { flag, text } from './parameters.ts';
import { bounded } from './validation.ts';

const PRICE = 1;
/** Checked before upper-casing: some letters outside ASCII have an upper case inside it. */
const THREE_LETTERS = /^[A-Za-z]{3}$/;

interface Filter {
  featured?: boolean | undefined;
  topic?: string | undefined;
}

export const country = defineRoute({
  template: '/countries/{iso3}',
  operation: 'getCountry',
  tag: 'Data',
  summary: 'One country',
  description:
    'The country record with its latest value of every indicator, by topic. Costs 1 credit whatever it holds. ' +
    'An unknown topic gives an empty `topics` object.',
  key: 'required',
  price: '1 credit',
  tagged: false,
  path: {
    iso3: { description: 'ISO 3166-1 alpha-3 code, upper or lower case', example: 'KEN' },
  },
  query: z.object({
    featured: flag().optional().describe('true: only featured items; false: only the others'),
    topic: text().optional().describe('One topic slug').meta({ example: 'health' }),
  }),
  answer: countryAnswer,
  refusals: ['country_not_found'],
  async handle({ snapshot, path, query }): Promise<Outcome> {
    const sent = path.iso3 ?? '';
    const code = THREE_LETTERS.test(sent) ? sent.toUpperCase() : '';
    if (!snapshot.catalogue.countriesByCode.has(code)) {
      return {
        kind: 'refusal',
        code: 'country_not_found',
        message: `No country has the code '${bounded(sent)}'.`,
      };
    }
    if (query.featured !== undefined || query.topic !== undefined) return filtered(snapshot, code, query);
    const { count } = await snapshot.countryItems(code);
    return { kind: 'answer', body: { kind: 'file', path: countryFile(code) }, price: PRICE, rows: count };
  },
});

async function filtered(snapshot: Snapshot, code: string, filter: Filter): Promise<Outcome> {
  const items = await snapshot.countryItems(code);
  const { json, count } = selectItems(items, filter);
  const meta = JSON.stringify({
    generated_at: snapshot.catalogue.generatedAt,
    count,
    ...sentOnly({ featured: filter.featured, topic: filter.topic }),
  });
  const body = jsonBody(
    `{"data":${json},"meta":${meta.slice(0, -1)},"topic_counts":${items.topicCountsJson}}}`,
  );
  return { kind: 'answer', body, price: PRICE, rows: count };
}
