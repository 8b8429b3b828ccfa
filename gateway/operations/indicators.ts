/** GET /indicators: the catalogue, filtered, searched, sorted and paged. */
import { z } from 'zod';
import { ROUTE_FILES } from '../../data/schema/snapshot.ts';
import { DIRECTIONS, type Direction, SORTS, type Sort } from '../snapshot/catalogue.ts';
import { type IndicatorQuery, searchIndicators } from '../snapshot/search.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { indicatorsAnswer } from './answers.ts';
import { defineRoute, freeFile, listBody, type Outcome, sentOnly } from './operation.ts';
import { fail, flag, integer, text } from './parameters.ts';

const LIMIT_MAX = 500;
/** A search shows its best matches; a list is whole. */
const SEARCH_LIMIT = 50;
const PHRASE_MAX = 500;

const phrase = text()
  .transform((sent, ctx) =>
    sent.length > PHRASE_MAX ? fail(ctx, { type: 'string_too_long', ctx: { max_length: PHRASE_MAX } }) : sent,
  )
  .meta({ type: 'string', maxLength: PHRASE_MAX, example: 'life expectancy' });

const query = z.object({
  q: phrase
    .optional()
    .describe('Words that must all occur in name, id or description; the best matches come first'),
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
    .describe('Turns the sort column round; no effect without `sort`')
    .meta({ enum: [...DIRECTIONS] }),
  limit: integer({ min: 1, max: LIMIT_MAX })
    .optional()
    .describe('Page size; default all, 50 when `q` is set'),
  offset: integer({ min: 0 }).optional().describe('Rows skipped after sorting; default 0'),
});

const WHOLE = freeFile(ROUTE_FILES.indicators);

export const indicators = defineRoute({
  template: '/indicators',
  operation: 'listIndicators',
  tag: 'Catalogue',
  summary: 'Indicators',
  description: 'The indicator catalogue. Filters combine with AND. Without filter and limit it comes whole.',
  key: 'optional',
  price: 'free',
  tagged: true,
  path: {},
  query,
  answer: indicatorsAnswer,
  refusals: ['bad_sort', 'bad_dir'],
  handle({ snapshot, query: sent }): Outcome {
    if (Object.keys(sent).length === 0) return WHOLE;
    if (sent.sort !== undefined && !isSort(sent.sort)) return { kind: 'refusal', code: 'bad_sort' };
    if (sent.dir !== undefined && !isDirection(sent.dir)) return { kind: 'refusal', code: 'bad_dir' };
    const { limit, offset, ...filters } = sent;
    const q = filters.q?.trim() === '' ? undefined : filters.q;
    return list(snapshot, { ...filters, q, sort: sent.sort, dir: sent.dir }, limit, offset);
  },
});

const isSort = (word: string): word is Sort => SORTS.some((sort) => sort === word);
const isDirection = (word: string): word is Direction => DIRECTIONS.some((direction) => direction === word);

function list(
  snapshot: Snapshot,
  asked: IndicatorQuery,
  limit: number | undefined,
  offset: number | undefined,
): Outcome {
  const echo = sentOnly({ ...asked, offset });
  if (limit === undefined && Object.keys(echo).length === 0) return WHOLE;
  const found = searchIndicators(snapshot.catalogue, asked);
  const start = offset ?? 0;
  const size = limit ?? (asked.q === undefined ? found.length : SEARCH_LIMIT);
  const page = found.slice(start, start + size);
  const meta = {
    generated_at: snapshot.catalogue.generatedAt,
    count: page.length,
    total: found.length,
    ...echo,
  };
  const body = listBody(
    page.map(({ json }) => json),
    meta,
  );
  return { kind: 'answer', body, price: 0, rows: 0 };
}
