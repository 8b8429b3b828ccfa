/** GET /indicators: the catalogue, filtered, searched, sorted and paged. */
import { z } from 'zod';
import { ROUTE_FILES } from '../../../../data/schema/snapshot.ts';
import { DIRECTIONS, SORTS, searchIndicators } from '../../snapshot/snapshot.ts';
import { type Refused, refused, sentOnly } from '../operation.ts';
import { asOf, asOfEcho } from '../parameters/as-of.ts';
import { fail, flag, integer, text } from '../parameters/parameters.ts';
import { additionsOf, includeEcho, includeWords, indicatorWithAdditions } from './include.ts';
import { defineList, type Listed } from './list.ts';

/** Longest page of records with additions, and of any that is asked for. */
export const LIMIT_MAX = 500;
/** Default page size of a search. */
const SEARCH_LIMIT = 50;
const PHRASE_MAX = 500;

/** What is searched for. */
export const searchPhrase = text()
  .transform((sent, ctx) =>
    [...sent].length > PHRASE_MAX
      ? fail(ctx, { type: 'string_too_long', ctx: { max_length: PHRASE_MAX } })
      : sent,
  )
  .meta({ type: 'string', maxLength: PHRASE_MAX });

const query = z.object({
  q: searchPhrase
    .optional()
    .describe('Words that must all occur in name, id or description; best matches first'),
  topic: text().optional().describe('Exact topic slug'),
  provider: text().optional().describe('Exact provider id'),
  featured: flag().optional().describe('true: the curated headline set; false: the others'),
  projections: flag()
    .optional()
    .describe('true: only series with forecast years beyond the newest observed one; false: only the others'),
  sort: text()
    .optional()
    .describe('Default `name`, or relevance when `q` is set')
    .meta({ enum: [...SORTS] }),
  dir: text()
    .optional()
    .describe('Sort direction; no effect without `sort`')
    .meta({ enum: [...DIRECTIONS] }),
  limit: integer({ min: 1, max: LIMIT_MAX })
    .optional()
    .describe(`Page size; default all, ${SEARCH_LIMIT} with \`q\`, ${LIMIT_MAX} with \`include\``),
  offset: integer({ min: 0 }).optional().describe('Rows skipped after sorting; default 0'),
  include: includeWords().optional(),
  as_of: asOf().optional(),
});

const ALL: Listed = { file: ROUTE_FILES.indicators };

export const indicators = defineList({
  name: 'listIndicators',
  path: '/indicators',
  summary: 'Indicators',
  description:
    'The indicator catalogue. Filters combine with AND. Without filter and limit it is returned whole.',
  query,
  record: indicatorWithAdditions,
  meta: {
    total: z.int().describe('Rows that match, over all pages'),
    q: z.string().optional(),
    topic: z.string().optional(),
    provider: z.string().optional(),
    featured: z.boolean().optional(),
    projections: z.boolean().optional(),
    sort: z.string().optional(),
    dir: z.string().optional(),
    offset: z.int().optional(),
    ...includeEcho,
    ...asOfEcho,
  },
  fileName: 'almanac-indicators',
  errors: ['bad_sort', 'bad_dir', 'edition_not_found'],
  isOfCatalogue: true,
  async list({ snapshot, query: sent }): Promise<Listed | Refused> {
    const sort = SORTS.find((word) => word === sent.sort);
    const dir = DIRECTIONS.find((word) => word === sent.dir);
    if (sort !== sent.sort) return refused('bad_sort');
    if (dir !== sent.dir) return refused('bad_dir');
    const { limit, offset = 0, include, as_of, ...rest } = sent;
    const q = rest.q?.trim() === '' ? undefined : rest.q;
    const filters = { ...rest, q, sort, dir };
    const echo = sentOnly({ ...filters, offset: sent.offset, include, as_of: as_of?.sent });
    if (limit === undefined && Object.keys(echo).length === 0) return ALL;
    const catalogue = await snapshot.wholeCatalogue();
    const matching = searchIndicators(catalogue, filters);
    const usual = q !== undefined ? SEARCH_LIMIT : include === undefined ? matching.length : LIMIT_MAX;
    const page = matching.slice(offset, offset + (limit ?? usual));
    const counts = { count: page.length, total: matching.length };
    const meta = { generated_at: catalogue.generatedAt, ...counts, ...echo };
    if (include === undefined) return { records: page.map(({ json }) => json), meta };
    const ids = page.map(({ record }) => record.id);
    const add = await additionsOf(snapshot, include, ids);
    return { records: page.map(({ json, record }) => add(json, record.id)), meta };
  },
});
