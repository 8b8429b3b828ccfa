/** `find_indicators`: the series for what somebody asks about, in their words. */
import { z } from 'zod';
import { indicatorId } from '../../../../data/schema/records.ts';
import { findSeries, GROUP_MARK } from '../../operations/operations.ts';
import type { Match, SeriesHit } from '../../snapshot/snapshot.ts';
import { common, fitted, NO_ESTIMATE } from '../answer.ts';
import { cursorArgument, paged, pageMember } from '../pages.ts';
import { answerPlan, defineTool } from '../tool.ts';

const LIMIT_MAX = 20;
const LIMIT = 5;
const PHRASE_MAX = 300;

const hit = z.object({
  indicator: indicatorId,
  name: z.string(),
  match: z.enum(['good', 'weak']),
  why: z.array(z.string()).describe('Words that it was found by'),
  unit: z.string().nullable(),
  concept: z.string().nullable().describe('What is measured; series of one concept measure the same'),
  preferred: z.boolean().describe('The series to use where nothing speaks for another'),
  other_series: z.array(z.string()).describe('Further series of the same concept'),
  topic: z.string(),
  countries: z.int().describe('How many countries it has'),
  first_year: z.int().nullable(),
  latest_year: z.int().nullable().describe('Newest measured year'),
  figures: z
    .enum(['open', 'display'])
    .describe('`display`: shown and ranked, but its figures may not be exported'),
  source: z.string(),
  licence: z.string(),
  url: z.string(),
});

const MESSAGES: Record<Match, string> = {
  good: 'Those with a `good` match measure what was asked for. Use the first, unless the user wants another source.',
  weak: 'Nothing measures exactly this. Say so before using one of these instead: they are only close.',
  none: `Almanac has nothing of this kind. ${NO_ESTIMATE}`,
};
const FURTHER = 'These are less near to what was asked for than those of the pages before.';

const toHit = (
  { record, concept, twins, match, why }: SeriesHit,
  publicUrl: string,
): z.infer<typeof hit> => ({
  indicator: record.id,
  name: record.name,
  match,
  why: [...why],
  unit: record.unit,
  concept,
  preferred: record.preferred,
  other_series: twins.map(({ id }) => id),
  topic: record.topic,
  countries: record.coverage?.n_countries ?? 0,
  first_year: record.coverage?.yr_min ?? null,
  latest_year: record.coverage?.latest_year ?? null,
  figures: record.access_tier,
  source: record.attribution,
  licence: record.licence,
  url: `${publicUrl}/indicators/${record.id}`,
});

export const findIndicatorsTool = defineTool({
  name: 'find_indicators',
  title: 'Find indicators',
  description:
    'Finds statistical series about countries by everyday words (“how many people can read”). Call it first: the other ' +
    'tools take the ids that it gives. `match` says whether the series are what was asked for.',
  priceText: 'free',
  arguments: z.object({
    query: z.string().trim().min(1).max(PHRASE_MAX).describe('What is asked about, in any words, in English'),
    topic: z.string().optional().describe('Only this topic'),
    limit: z.int().min(1).max(LIMIT_MAX).optional().describe(`How many a page; default ${LIMIT}`),
    cursor: cursorArgument,
  }),
  answer: z.object({
    ...common,
    match: z.enum(['good', 'weak', 'none']).describe('That of the nearest'),
    places: z
      .array(z.string())
      .describe('Codes of places and groups named in the words: other tools take them'),
    years: z.array(z.int()),
    nearest: z.array(z.string()).describe('Known words spelt like unknown ones'),
    indicators: z.array(hit).describe('Best first, one series for each concept'),
    page: pageMember,
  }),
  empty: { match: 'none', places: [], years: [], nearest: [], indicators: [] },
  async plan({ snapshot, query: { query, topic, limit = LIMIT }, publicUrl }, page) {
    const found = await findSeries(snapshot, query, {
      isWanted: (record) => topic === undefined || record.topic === topic,
    });
    const { hits, match, countries, groups, years, nearest } = found;
    const places = [...countries.map(({ iso3 }) => iso3), ...groups.map(({ id }) => GROUP_MARK + id)];
    const shown = hits.slice(page.skip, page.skip + limit);
    const answer = fitted(shown.length, (rows) => ({
      outcome: match === 'none' ? ('refused' as const) : ('answer' as const),
      message: page.skip === 0 ? MESSAGES[match] : FURTHER,
      edition: snapshot.id,
      match,
      places,
      years,
      nearest,
      ...paged(page, rows, hits.length),
      indicators: shown.slice(0, rows).map((one) => toHit(one, publicUrl)),
    }));
    return answerPlan(answer, { price: 0, rows: answer.indicators.length });
  },
});
