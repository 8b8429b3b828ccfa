/** `country_profile`: a country's newest figures by topic. */
import { z } from 'zod';
import type { CountryRecord, IndicatorRecord, TopicItem } from '../../../../data/schema/records.ts';
import { countryRecord } from '../../../../data/schema/records.ts';
import { country as countryOperation } from '../../operations/operations.ts';
import type { Edition } from '../../snapshot/snapshot.ts';
import {
  fitted,
  listed,
  type Refusal,
  refusedAnswer,
  refusedText,
  seriesOf,
  withFigures,
} from '../answer.ts';
import { documentOf, pathOf, planInner } from '../calls.ts';
import { type Figure, toTables } from '../figure-tables.ts';
import { withStatus } from '../figures.ts';
import { cursorArgument, paged } from '../pages.ts';
import { findPlace, type Place } from '../places.ts';
import { answerPlan, asOfArgument, defineTool } from '../tool.ts';

/** More do not fit. */
const FIGURES_MAX = 200;

export const countryProfileTool = defineTool({
  name: 'country_profile',
  title: 'Country profile',
  description:
    'The newest measured figure of every featured indicator of a country, with its rank; or of every indicator of one topic.',
  priceText: '1 credit a page',
  arguments: z.object({
    country: z.string().min(1).describe('One country, by name or code'),
    topic: z
      .string()
      .optional()
      .describe('A topic of find_indicators; default: the featured indicators of all topics'),
    as_of: asOfArgument,
    cursor: cursorArgument,
  }),
  answer: z.object({
    ...withFigures,
    country: countryRecord.nullable(),
    topics: z
      .array(z.object({ topic: z.string(), indicators: z.int() }))
      .describe('What is held of the country'),
  }),
  empty: { figures: [], series: [], refusals: [], country: null, topics: [] },
  async plan({ snapshot: edition, query: { country: sent, topic, as_of }, publicUrl }, page) {
    const place = findPlace(sent, edition);
    if (place.kind !== 'country') return answerPlan(refusedProfile(place, sent, edition));
    const { country } = place;
    const query = topic === undefined ? { featured: true } : { topic };
    const call = { operation: countryOperation, path: { iso3: country.iso3 }, query };
    const planned = await planInner({ edition, publicUrl }, call);
    if (planned.kind !== 'plan') return planned;
    const { data, meta } = await documentOf<Profile>(planned.produce(null));
    const items = Object.values(data.topics)
      .flat()
      .filter(({ value }) => value !== null);
    const shown = await readProfile(items.slice(page.skip, page.skip + FIGURES_MAX), country, edition);
    const topics = Object.entries(meta.topic_counts).map(([slug, indicators]) => ({
      topic: slug,
      indicators,
    }));
    const whole = () => ({ url: publicUrl + pathOf(call, edition), price: planned.price });
    const refusals = items.length > 0 ? [] : [nothingHeld(country, topic)];
    const answer = fitted(shown.length, (rows) => ({
      outcome: rows === 0 ? ('refused' as const) : ('answer' as const),
      message:
        rows === 0
          ? refusedText(refusals)
          : `${country.name}: ${rows} of ${items.length} figures, each the newest measured one; name its year.`,
      edition: edition.id,
      ...(as_of && { as_of: as_of.sent }),
      country,
      topics,
      ...paged(page, rows, items.length, whole),
      figures: toTables(shown.slice(0, rows).map(({ figure }) => figure)),
      series: shown.slice(0, rows).map(({ record }) => seriesOf(record, publicUrl)),
      ...listed(refusals),
    }));
    return answerPlan(answer, planned);
  },
});

function refusedProfile(place: Exclude<Place, { kind: 'country' }>, sent: string, edition: Edition) {
  const refusal: Refusal =
    place.kind === 'refused'
      ? place.refusal
      : {
          reason: 'not_a_country',
          message: `“${sent}” is a group, which has no profile. Its members are ${place.members.join(', ')}.`,
          place: sent,
        };
  return refusedAnswer(edition, [refusal], { figures: [], series: [], country: null, topics: [] });
}

interface Profile {
  data: { topics: Record<string, TopicItem[]> };
  meta: { count: number; topic_counts: Record<string, number> };
}

const nothingHeld = ({ iso3, name }: CountryRecord, topic: string | undefined): Refusal => ({
  reason: 'no_data',
  message: `Almanac holds no ${topic === undefined ? 'featured' : `“${topic.slice(0, 80)}”`} figure of ${name}: \`topics\` lists what is held.`,
  place: iso3,
  nearest_years: [],
});

interface Shown {
  figure: Figure;
  record: IndicatorRecord;
}

async function readProfile(
  items: readonly TopicItem[],
  { iso3, name }: CountryRecord,
  edition: Edition,
): Promise<Shown[]> {
  const records = new Map<string, IndicatorRecord>();
  const figures: Figure[] = [];
  for (const { indicator, year, value, rank } of items) {
    const entry = await edition.indicator(indicator);
    if (!entry || value === null) continue;
    const { record } = entry;
    const about = { indicator, iso3, country: name, year, value };
    // The newest value of a country is a measured one.
    figures.push({ ...about, status: null, projected: false, rank });
    records.set(indicator, record);
  }
  return (await withStatus(figures, edition)).flatMap((figure) => {
    const record = records.get(figure.indicator);
    return record === undefined ? [] : [{ figure, record }];
  });
}
