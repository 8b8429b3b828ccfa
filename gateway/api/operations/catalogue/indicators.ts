/** GET /indicators: the catalogue, filtered, searched, sorted and paged. */
import { z } from 'zod';
import { ROUTE_FILES } from '../../../../data/schema/snapshot.ts';
import {
  type Catalogue,
  DIRECTIONS,
  type Direction,
  type Edition,
  type IndicatorQuery,
  SORTS,
  type Sort,
  searchIndicators,
} from '../../snapshot/snapshot.ts';
import { type Refused, refused, sentOnly } from '../operation.ts';
import { asOf, asOfEcho } from '../parameters/as-of.ts';
import { fail, flag, integer, text } from '../parameters/parameters.ts';
import {
  additionsOf,
  type IncludeWord,
  includeEcho,
  includeWords,
  indicatorWithAdditions,
} from './include.ts';
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
  list({ snapshot, query: sent }): Listed | Refused | Promise<Listed> {
    if (Object.keys(sent).length === 0) return ALL;
    if (sent.sort !== undefined && !isSort(sent.sort)) return refused('bad_sort');
    if (sent.dir !== undefined && !isDirection(sent.dir)) return refused('bad_dir');
    const { limit, offset, include, as_of, ...rest } = sent;
    const q = rest.q?.trim() === '' ? undefined : rest.q;
    const filters = { ...rest, q, sort: sent.sort, dir: sent.dir };
    const page = { limit, offset, include, as_of: as_of?.sent };
    const catalogue = snapshot.wholeCatalogue();
    return catalogue instanceof Promise
      ? catalogue.then((whole) => listPage(snapshot, whole, filters, page))
      : listPage(snapshot, catalogue, filters, page);
  },
});

const isSort = (word: string): word is Sort => SORTS.some((sort) => sort === word);
const isDirection = (word: string): word is Direction => DIRECTIONS.some((direction) => direction === word);

interface Page {
  limit: number | undefined;
  offset: number | undefined;
  include: readonly IncludeWord[] | undefined;
  /** As sent. */
  as_of: string | undefined;
}

function listPage(
  snapshot: Edition,
  catalogue: Catalogue,
  filters: IndicatorQuery,
  { limit, offset, include, as_of }: Page,
): Listed | Promise<Listed> {
  const echo = sentOnly({ ...filters, offset, include, as_of });
  if (limit === undefined && Object.keys(echo).length === 0) return ALL;
  const matching = searchIndicators(catalogue, filters);
  const start = offset ?? 0;
  const size = limit ?? defaultLimit(filters, include) ?? matching.length;
  const page = matching.slice(start, start + size);
  const meta = {
    generated_at: catalogue.generatedAt,
    count: page.length,
    total: matching.length,
    ...echo,
  };
  if (include === undefined) return { records: page.map(({ json }) => json), meta };
  const ids = page.map(({ record }) => record.id);
  return additionsOf(snapshot, include, ids).then((add) => ({
    records: page.map(({ json, record }) => add(json, record.id)),
    meta,
  }));
}

/** Undefined: all. */
function defaultLimit({ q }: IndicatorQuery, include: Page['include']): number | undefined {
  if (q !== undefined) return SEARCH_LIMIT;
  return include === undefined ? undefined : LIMIT_MAX;
}
