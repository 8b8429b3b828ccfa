/** GET /indicators: the catalogue, filtered, searched, sorted and paged. */
import { z } from 'zod';
import { ROUTE_FILES } from '../../../../data/schema/snapshot.ts';
import {
  type Catalogue,
  DIRECTIONS,
  type Direction,
  SORTS,
  type Sort,
} from '../../snapshot/editions/catalogue.ts';
import type { Edition } from '../../snapshot/editions/edition.ts';
import { type IndicatorQuery, searchIndicators } from '../../snapshot/search/search.ts';
import { count } from '../envelope.ts';
import { type Content, free, listDocument, type Planned, refused, sentOnly } from '../operation.ts';
import { asOf, asOfEcho } from '../parameters/as-of.ts';
import { fail, flag, integer, text } from '../parameters/parameters.ts';
import { ofCatalogue } from './described-by.ts';
import {
  additionsOf,
  type IncludeWord,
  includeEcho,
  includeWords,
  indicatorWithAdditions,
} from './include.ts';
import { defineList } from './list-formats.ts';

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

const ALL = free(ofCatalogue({ kind: 'file', path: ROUTE_FILES.indicators }));

export const indicators = defineList({
  name: 'listIndicators',
  path: '/indicators',
  tag: 'Catalogue',
  summary: 'Indicators',
  description:
    'The indicator catalogue. Filters combine with AND. Without filter and limit it is returned whole.',
  needsKey: false,
  priceText: 'free',
  isCacheable: true,
  pathParameters: {},
  query,
  record: indicatorWithAdditions,
  meta: {
    count,
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
  asOf: ({ as_of }) => as_of,
  plan({ snapshot, query: sent }): Planned | Promise<Planned> {
    if (Object.keys(sent).length === 0) return ALL;
    if (sent.sort !== undefined && !isSort(sent.sort)) return refused('bad_sort');
    if (sent.dir !== undefined && !isDirection(sent.dir)) return refused('bad_dir');
    const { limit, offset, include, as_of, ...rest } = sent;
    const q = rest.q?.trim() === '' ? undefined : rest.q;
    const filters = { ...rest, q, sort: sent.sort, dir: sent.dir };
    const page = { limit, offset, include, as_of: as_of?.sent };
    const catalogue = snapshot.wholeCatalogue();
    return catalogue instanceof Promise
      ? catalogue.then((whole) => planPage(snapshot, whole, filters, page))
      : planPage(snapshot, catalogue, filters, page);
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

function planPage(
  snapshot: Edition,
  catalogue: Catalogue,
  filters: IndicatorQuery,
  { limit, offset, include, as_of }: Page,
): Planned {
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
  if (include === undefined) {
    const json = page.map((entry) => entry.json);
    return free(ofCatalogue(listDocument(json, meta), as_of));
  }
  const produce = async (): Promise<Content> => {
    const ids = page.map(({ record }) => record.id);
    const add = await additionsOf(snapshot, include, ids);
    const extended = page.map(({ json, record }) => add(json, record.id));
    return ofCatalogue(listDocument(extended, meta), as_of);
  };
  return { kind: 'plan', price: 0, rows: 0, produce };
}

/** Undefined: all. */
function defaultLimit({ q }: IndicatorQuery, include: Page['include']): number | undefined {
  if (q !== undefined) return SEARCH_LIMIT;
  return include === undefined ? undefined : LIMIT_MAX;
}
