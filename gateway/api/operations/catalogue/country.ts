/** GET /countries/{iso3}: one country with its latest values by topic. */
import { z } from 'zod';
import { countryDetail, countryRecord, indicatorRecord, topicItem } from '../../../../data/schema/records.ts';
import { countryFile } from '../../../../data/schema/snapshot.ts';
import { truncateInput } from '../../core/errors.ts';
import { columnsOf, DEFAULT_FORMAT, LIST_FORMATS, recordTable } from '../../encoders/encoders.ts';
import type { Catalogue, CountryProfile, Edition } from '../../snapshot/snapshot.ts';
import { envelope } from '../envelope.ts';
import {
  type Content,
  defineOperation,
  encoderOf,
  jsonAnswer,
  type Plan,
  type Planned,
  type Refused,
  refused,
  sentOnly,
  tablePlan,
  withMeta,
} from '../operation.ts';
import { asOf, asOfEcho } from '../parameters/as-of.ts';
import { COUNTRY_CODE, flag, oneOf, text } from '../parameters/parameters.ts';
import { type NamedPlace, placeNamed } from '../parameters/place-names.ts';

const PRICE = 1;

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
  pathParameters: {
    iso3: {
      description: 'ISO3, ISO2 or M49 code, upper or lower case, or a usual name: `Viet Nam`',
      schema: { minLength: 1 },
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
  async plan({ snapshot, path, query }): Promise<Planned> {
    const code = findCode(path.iso3 ?? '', snapshot);
    if (typeof code !== 'string') return code;
    const { featured, topic, format } = query;
    const echo = sentOnly({ featured, topic, as_of: query.as_of?.sent, format });
    const profile = await snapshot.countryProfile(code);
    const isJson = format === undefined || format === DEFAULT_FORMAT;
    if (isJson && featured === undefined && topic === undefined)
      return paid(profile.count, () => wholeProfile(snapshot, code, echo));
    const topics = selectTopics(profile, query);
    const { generatedAt: generated_at } = snapshot;
    if (isJson) {
      const count = Object.values(topics).flat().length;
      const meta = { generated_at, count, ...echo, topic_counts: profile.topic_counts };
      return paid(count, () => jsonAnswer({ ...profile.record, topics }, meta));
    }
    const rows = profileRows(await snapshot.wholeCatalogue(), profile, topics);
    const meta = { generated_at, count: rows.length, ...echo };
    const about = { indicators: [], meta, edition: snapshot.id, name: `${code}.profile` };
    const table = recordTable(COLUMNS, rows, about, (one) => one);
    return tablePlan(table, encoderOf(format), { price: PRICE });
  },
});

/** The code of the country that is called so, or the refusal with those that may be meant. */
function findCode(sent: string, { countriesByCode }: Edition): string | Refused {
  const named: NamedPlace = COUNTRY_CODE.test(sent)
    ? { kind: 'country', iso3: sent.toUpperCase() }
    : placeNamed(sent);
  if (named.kind === 'country' && countriesByCode.has(named.iso3)) return named.iso3;
  const candidates = named.kind === 'none' ? named.candidates : [];
  const meant = candidates.map((one) => `${one.name} (${'iso3' in one ? one.iso3 : one.group})`);
  const hint = meant.length === 0 ? '' : ` Candidates: ${meant.join(', ')}.`;
  return refused('country_not_found', `No country has the code or name '${truncateInput(sent)}'.${hint}`);
}

const paid = (rows: number, produce: Plan['produce']): Plan => ({
  kind: 'plan',
  price: PRICE,
  rows,
  produce,
});

type Topics = CountryProfile['topics'];

/** The items that pass the filter; a topic without any is left out. */
const selectTopics = (
  { topics }: CountryProfile,
  { featured, topic }: { featured?: boolean | undefined; topic?: string | undefined },
): Topics =>
  Object.fromEntries(
    Object.entries(topics).flatMap(([slug, all]) => {
      const items = all.filter((item) => featured === undefined || item.featured === featured);
      return items.length === 0 || (topic !== undefined && slug !== topic) ? [] : [[slug, items]];
    }),
  );

async function wholeProfile(
  snapshot: Edition,
  code: string,
  echo: Record<string, unknown>,
): Promise<Content> {
  const isPlain = Object.keys(echo).length === 0;
  const isServed = snapshot.editions.chain.at(-1)?.edition === snapshot.id;
  if (isPlain && isServed) return { kind: 'file', path: countryFile(code) };
  const body = await snapshot.countryBody(code);
  return isPlain ? { kind: 'document', json: body } : withMeta(body, echo);
}

const { iso3, name } = countryRecord.shape;
const { licence, licence_url, attribution } = indicatorRecord.shape;

/** Figures of many providers: each row has its own terms, for which headers have no room. */
const profileRow = z.object({
  iso3,
  country: name,
  topic: z.string(),
  ...topicItem.shape,
  licence,
  licence_url,
  attribution,
});
type ProfileRow = z.infer<typeof profileRow>;

const COLUMNS = columnsOf(profileRow);

/** None for a display-only indicator: its figures are shown, and not exported. */
const profileRows = (
  { indicators }: Catalogue,
  { record: { iso3, name: country } }: CountryProfile,
  topics: Topics,
): ProfileRow[] =>
  Object.entries(topics).flatMap(([topic, items]) =>
    items.flatMap((item): ProfileRow[] => {
      const record = indicators.get(item.indicator)?.record;
      if (record === undefined || record.access_tier === 'display') return [];
      const { licence, licence_url, attribution } = record;
      return [{ iso3, country, topic, ...item, licence, licence_url, attribution }];
    }),
  );
