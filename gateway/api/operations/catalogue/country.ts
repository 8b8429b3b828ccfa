/** GET /countries/{iso3}: one country with its latest values by topic. */
import { z } from 'zod';
import { countryDetail } from '../../../../data/schema/records.ts';
import { countryFile } from '../../../../data/schema/snapshot.ts';
import { truncateInput } from '../../core/errors.ts';
import { DEFAULT_FORMAT, encoderFor, LIST_FORMATS } from '../../encoders/registry.ts';
import { type CountryItems, type SelectedItems, selectItems } from '../../snapshot/editions/country-items.ts';
import type { Edition } from '../../snapshot/editions/edition.ts';
import { envelope } from '../envelope.ts';
import {
  type Content,
  defineOperation,
  document,
  type Planned,
  refused,
  sentOnly,
  withMeta,
} from '../operation.ts';
import { asOf, asOfEcho } from '../parameters/as-of.ts';
import { COUNTRY_CODE, flag, oneOf, text } from '../parameters/parameters.ts';
import { profileTable } from './country-table.ts';

const PRICE = 1;

interface Filter {
  featured?: boolean | undefined;
  topic?: string | undefined;
  /** As sent. */
  as_of?: string | undefined;
  format?: string | undefined;
}

export const country = defineOperation({
  name: 'getCountry',
  path: '/countries/{iso3}',
  tag: 'Data',
  summary: 'One country',
  description:
    'The country record with its latest value of every indicator, by topic. Costs 1 credit whatever it holds. ' +
    'An unknown topic gives an empty `topics` object. CSV and NDJSON have a row for each indicator that may be exported, with its ' +
    'licence and credit line.',
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
    format: oneOf(LIST_FORMATS).optional().describe('Default `json`').meta({ default: DEFAULT_FORMAT }),
  }),
  formats: LIST_FORMATS,
  answer: envelope(countryDetail, {
    count: z.int().describe('Items over all topics'),
    featured: z.boolean().optional(),
    topic: z.string().optional(),
    topic_counts: z.record(z.string(), z.int()).describe('Items held per topic; filters do not change it'),
    format: z.enum(LIST_FORMATS).optional(),
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
    const { featured, topic, format } = query;
    const filter: Filter = { featured, topic, as_of: query.as_of?.sent, format };
    const isJson = format === undefined || format === DEFAULT_FORMAT;
    if (isJson && featured === undefined && topic === undefined) {
      const produce = () => wholeProfile(snapshot, code, filter);
      return { kind: 'plan', price: PRICE, rows: items.count, produce };
    }
    const selected = selectItems(items, filter);
    if (!isJson) {
      const table = await profileTable(snapshot, code, selected, sentOnly({ ...filter }));
      const content: Content = { kind: 'table', table, encoder: encoderFor(format) };
      return { kind: 'plan', price: PRICE, rows: table.rows, produce: () => content };
    }
    const produce = () => filteredDocument(items, selected, filter, snapshot.generatedAt);
    return { kind: 'plan', price: PRICE, rows: selected.count, produce };
  },
});

async function wholeProfile(snapshot: Edition, code: string, { as_of, format }: Filter): Promise<Content> {
  const echo = sentOnly({ as_of, format });
  const isPlain = Object.keys(echo).length === 0;
  const isServed = snapshot.editions.chain.at(-1)?.edition === snapshot.id;
  if (isPlain && isServed) return { kind: 'file', path: countryFile(code) };
  const body = await snapshot.countryBody(code);
  return isPlain ? { kind: 'document', json: body } : withMeta(body, echo);
}

function filteredDocument(
  items: CountryItems,
  { topics, count }: SelectedItems,
  filter: Filter,
  generated_at: string,
): Content {
  const members = topics.map(({ slug, json }) => `${JSON.stringify(slug)}:[${json.join(',')}]`);
  const data = `{${items.recordJson},"topics":{${members.join(',')}}}`;
  const meta = JSON.stringify({ generated_at, count, ...sentOnly({ ...filter }) });
  return document(`{"data":${data},"meta":${meta.slice(0, -1)},"topic_counts":${items.topicCountsJson}}}`);
}
