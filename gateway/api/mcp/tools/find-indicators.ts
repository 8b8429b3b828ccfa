/** `find_indicators`: the series for what somebody asks about, in their words. */
import { z } from 'zod';
import { indicatorId } from '../../../../data/schema/records.ts';
import { addressOf, common, fitted, NO_ESTIMATE } from '../answer.ts';
import { type Hit, type Match, matchOf, searchOf } from '../indicators.ts';
import { answerPlan, defineTool } from '../tool.ts';

const LIMIT_MAX = 20;
const LIMIT = 5;
const PHRASE_MAX = 300;

const hit = z.object({
  indicator: indicatorId,
  name: z.string(),
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
  good: 'The first of these measure what was asked for. Use the first, unless the user wants another source.',
  weak: 'Nothing measures exactly this. Say so before using one of these instead: they are only close.',
  none: `Almanac has nothing of this kind. ${NO_ESTIMATE}`,
};

const toHit = ({ record, concept, others }: Hit, publicUrl: string): z.infer<typeof hit> => ({
  indicator: record.id,
  name: record.name,
  unit: record.unit,
  concept,
  preferred: record.preferred,
  other_series: others,
  topic: record.topic,
  countries: record.coverage?.n_countries ?? 0,
  first_year: record.coverage?.yr_min ?? null,
  latest_year: record.coverage?.latest_year ?? null,
  figures: record.access_tier,
  source: record.attribution,
  licence: record.licence,
  url: addressOf(publicUrl, `/indicators/${record.id}`),
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
    limit: z.int().min(1).max(LIMIT_MAX).optional().describe(`Default ${LIMIT}`),
  }),
  answer: z.object({
    ...common,
    match: z.enum(['good', 'weak', 'none']),
    indicators: z.array(hit).describe('Best first, one series for each concept'),
  }),
  empty: { match: 'none', indicators: [] },
  async plan({ snapshot, query: { query, topic, limit = LIMIT }, publicUrl }) {
    const search = searchOf(await snapshot.wholeCatalogue());
    const hits = search.find(query, limit, (record) => topic === undefined || record.topic === topic);
    const match = matchOf(hits);
    const answer = fitted(hits.length, (rows) => ({
      outcome: match === 'none' ? ('refused' as const) : ('answer' as const),
      message: MESSAGES[match],
      edition: snapshot.id,
      match,
      indicators: hits.slice(0, rows).map((one) => toHit(one, publicUrl)),
    }));
    return answerPlan(answer, { price: 0, rows: answer.indicators.length });
  },
});
