/** GET /search: series by the words that people use, and the search that pages and tools ask. */
import { z } from 'zod';
import { coverage, indicatorId, iso3 } from '../../../../data/schema/records.ts';
import {
  type Edition,
  type FindOptions,
  type Match,
  type SeriesHit,
  searchFor,
} from '../../snapshot/snapshot.ts';
import { integer } from '../parameters/parameters.ts';
import { placesInWords } from '../parameters/places-in-words.ts';
import { searchPhrase } from './indicators.ts';
import { defineList } from './list.ts';

const LIMIT_MAX = 50;
const LIMIT = 10;

export type Found = Awaited<ReturnType<typeof findSeries>>;

type Searched = Pick<Edition, 'wholeCatalogue' | 'countriesByCode'>;

/** Series by words. Places and years in them are recognised and not searched for. */
export async function findSeries(edition: Searched, sent: string, options: FindOptions) {
  const search = searchFor(await edition.wholeCatalogue());
  const { text, ...places } = placesInWords(sent, edition);
  const hits = search.find(text, { ...options, years: places.years });
  const match: Match = hits[0]?.match ?? 'none';
  /** Where nothing is found: words that are spelt most like those asked for. */
  const nearest = match === 'none' ? search.nearestWords(text) : [];
  return { ...places, hits, match, nearest };
}

const matches = ['good', 'weak', 'none'] as const satisfies readonly Match[];

const hit = z.object({
  id: indicatorId,
  name: z.string(),
  unit: z.string().nullable(),
  provider: z.string(),
  concept: z.string().nullable().describe('Series of one concept measure the same'),
  twins: z.array(indicatorId).describe('Further series of the concept'),
  coverage: coverage.nullable(),
  match: z.enum(matches).describe('`good`: this was asked for. `weak`: only close to it'),
  why: z.array(z.string()).describe('The words that it was found by; `code` where they are its code'),
});

const toHit = ({ record, concept, twins, match, why }: SeriesHit): z.infer<typeof hit> => ({
  id: record.id,
  name: record.name,
  unit: record.unit,
  provider: record.provider.id,
  concept,
  twins: twins.map(({ id }) => id),
  coverage: record.coverage,
  match,
  why: [...why],
});

export const search = defineList({
  name: 'search',
  path: '/search',
  summary: 'Search',
  description:
    'Series by the words that people use, best first, one for each concept. Synonyms, plurals, typing errors and codes of ' +
    'providers are understood; the last word may be unfinished unless a space follows it.',
  query: z.object({
    q: searchPhrase.describe('What is asked about, in English: “how many people can read in Kenya”'),
    limit: integer({ min: 1, max: LIMIT_MAX }).optional().describe(`Default ${LIMIT}`),
  }),
  record: hit,
  meta: {
    q: z.string(),
    match: z.enum(matches).describe('That of the first hit; `none` without one'),
    places: z.array(z.object({ iso3, name: z.string() })).describe('Countries named in the words'),
    groups: z.array(z.object({ id: z.string(), name: z.string() })).describe('Groups named in the words'),
    years: z.array(z.int()).describe('Years named in the words'),
    nearest: z
      .array(z.string())
      .describe('Where nothing is found: held words that are spelt most like those asked for'),
  },
  fileName: 'almanac-search',
  async list({ snapshot, query: { q, limit = LIMIT } }) {
    const { hits, match, countries, groups, years, nearest } = await findSeries(snapshot, q, {
      limit,
      isTyping: true,
    });
    const records = hits.map((one) => JSON.stringify(toHit(one)));
    const named = { places: countries, groups, years, nearest };
    return {
      records,
      meta: { generated_at: snapshot.generatedAt, count: records.length, q, match, ...named },
    };
  },
});
