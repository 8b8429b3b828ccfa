/** GET /countries/{iso3}: one country with its latest values by topic. */
import { z } from 'zod';
import { countryDetail } from '../../data/schema/records.ts';
import { countryFile } from '../../data/schema/snapshot.ts';
import { truncateInput } from '../errors.ts';
import { type CountryItems, selectItems } from '../snapshot/country-items.ts';
import type { Edition } from '../snapshot/edition.ts';
import { asOf, asOfEcho } from './as-of.ts';
import { envelope } from './envelope.ts';
import {
  type Content,
  defineOperation,
  document,
  type Planned,
  refused,
  sentOnly,
  withMeta,
} from './operation.ts';
import { COUNTRY_CODE, flag, text } from './parameters.ts';

const PRICE = 1;

interface Filter {
  featured?: boolean | undefined;
  topic?: string | undefined;
  /** As sent. */
  as_of?: string | undefined;
}

export const country = defineOperation({
  name: 'getCountry',
  path: '/countries/{iso3}',
  tag: 'Data',
  summary: 'One country',
  description:
    'The country record with its latest value of every indicator, by topic. Costs 1 credit whatever it holds. ' +
    'An unknown topic gives an empty `topics` object.',
  needsKey: true,
  priceText: '1 credit',
  isCacheable: false,
  pathParameters: {
    iso3: {
      description: 'ISO 3166-1 alpha-3 code, upper or lower case',
      schema: { pattern: COUNTRY_CODE.source },
    },
  },
  query: z.object({
    featured: flag().optional().describe('true: only featured items; false: only the others'),
    topic: text().optional().describe('One topic slug'),
    as_of: asOf().optional(),
  }),
  answer: envelope(countryDetail, {
    count: z.int().describe('Items over all topics'),
    featured: z.boolean().optional(),
    topic: z.string().optional(),
    topic_counts: z.record(z.string(), z.int()).describe('Items held per topic; filters do not change it'),
    ...asOfEcho,
  }),
  errors: ['country_not_found', 'edition_not_found'],
  asOf: ({ as_of }) => as_of,
  async plan({ snapshot, path, query }): Promise<Planned> {
    const sent = path.iso3 ?? '';
    const code = COUNTRY_CODE.test(sent) ? sent.toUpperCase() : '';
    if (!snapshot.countriesByCode.has(code)) {
      return refused('country_not_found', `No country has the code '${truncateInput(sent)}'.`);
    }
    const items = await snapshot.countryItems(code);
    const { featured, topic } = query;
    const as_of = query.as_of?.sent;
    if (featured === undefined && topic === undefined) {
      return {
        kind: 'plan',
        price: PRICE,
        rows: items.count,
        produce: () => wholeProfile(snapshot, code, as_of),
      };
    }
    const { topics, count } = selectItems(items, query);
    const produce = () =>
      filteredDocument(items, topics, count, { featured, topic, as_of }, snapshot.generatedAt);
    return { kind: 'plan', price: PRICE, rows: count, produce };
  },
});

async function wholeProfile(snapshot: Edition, code: string, as_of: string | undefined): Promise<Content> {
  const isServed = snapshot.editions.chain.at(-1)?.edition === snapshot.id;
  if (as_of === undefined && isServed) return { kind: 'file', path: countryFile(code) };
  const body = await snapshot.countryBody(code);
  return as_of === undefined ? { kind: 'document', json: body } : withMeta(body, { as_of });
}

function filteredDocument(
  items: CountryItems,
  topics: ReturnType<typeof selectItems>['topics'],
  count: number,
  { featured, topic, as_of }: Filter,
  generated_at: string,
): Content {
  const members = topics.map(({ slug, json }) => `${JSON.stringify(slug)}:[${json.join(',')}]`);
  const data = `{${items.recordJson},"topics":{${members.join(',')}}}`;
  const meta = JSON.stringify({ generated_at, count, ...sentOnly({ featured, topic, as_of }) });
  return document(`{"data":${data},"meta":${meta.slice(0, -1)},"topic_counts":${items.topicCountsJson}}}`);
}
