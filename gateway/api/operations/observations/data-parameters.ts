/** The parameters of GET /data: which series, which rows of them, in which shape. */
import { z } from 'zod';
import { DEFAULT_FORMAT, FORMATS } from '../../encoders/registry.ts';
import { asOf } from '../parameters/as-of.ts';
import { fail, integer, oneOf, parsed, text } from '../parameters/parameters.ts';
import type { Failure } from '../parameters/validation.ts';
import { FIELDS, type Field } from './data-columns.ts';
import { checkYears, selection } from './selection.ts';

const INDICATORS_MAX = 50;

/** Distinct words of a comma-separated list, in the order sent. */
const listed = (sent: string): string[] => sent.split(',').map((part) => part.trim());

const indicatorList = parsed((sent, ctx): string[] => {
  const ids = listed(sent);
  const blank = ids.indexOf('');
  if (blank >= 0)
    return fail(ctx, { type: 'string_too_short', ctx: { min_length: 1 }, input: '', at: blank });
  const distinct = [...new Set(ids)];
  if (distinct.length <= INDICATORS_MAX) return distinct;
  const bounds = { max_length: INDICATORS_MAX, actual_length: distinct.length };
  return fail(ctx, { type: 'too_long', ctx: bounds });
}).meta({ type: 'string', pattern: `^[^,\\s]+(,[^,\\s]+){0,${INDICATORS_MAX - 1}}$` });

const fieldList = text()
  .transform((sent, ctx): Field[] => {
    const fields: Field[] = [];
    for (const [at, word] of listed(sent).entries()) {
      const field = FIELDS.find((candidate) => candidate === word);
      if (field === undefined) {
        const expected = FIELDS.map((candidate) => `'${candidate}'`).join(' or ');
        return fail(ctx, { type: 'literal_error', ctx: { expected }, input: word, at });
      }
      if (fields.includes(field))
        return fail(ctx, { type: 'value_error', ctx: { error: `${field} is named twice` }, input: word, at });
      fields.push(field);
    }
    return fields;
  })
  .meta({ type: 'string', pattern: `^(${FIELDS.join('|')})(,(${FIELDS.join('|')}))*$` });

const { indicator, ...rowSelection } = selection;

export const dataQuery = z
  .object({
    indicator: indicator.optional().describe('Indicator id; or send `indicators`'),
    indicators: indicatorList
      .optional()
      .describe(
        `Indicator ids separated by commas, at most ${INDICATORS_MAX}, instead of \`indicator\`: rows then have the column \`indicator\``,
      ),
    ...rowSelection,
    fields: fieldList
      .optional()
      .describe(
        `Columns of the rows, in the order wanted: ${FIELDS.map((field) => `\`${field}\``).join(', ')}`,
      ),
    layout: oneOf(['long', 'wide'])
      .optional()
      .describe('`wide`: a row per country and year with a column of values for each indicator')
      .meta({ default: 'long' }),
    latest: integer({ min: 1 })
      .optional()
      .describe(
        'Only the newest so many observed values of each country and indicator, within `from` and `to`',
      ),
    missing: oneOf(['null', 'omit'])
      .optional()
      .describe('`omit`: rows without a value are left out, and not charged')
      .meta({ default: 'null' }),
    format: oneOf(FORMATS).optional().describe('Default `json`').meta({ default: DEFAULT_FORMAT }),
    as_of: asOf().optional(),
  })
  .superRefine(checkYears)
  .superRefine(checkShape);

export type DataQuery = z.infer<typeof dataQuery>;

function checkShape(
  { indicator: one, indicators, fields, layout }: ShapeQuery,
  ctx: z.core.$RefinementCtx,
): void {
  const fault = (path: string, failure: Failure) =>
    ctx.addIssue({ code: 'custom', path: [path], params: { failure } });
  const excludes = (error: string): Failure => ({ type: 'value_error', ctx: { error } });
  if (one === undefined && indicators === undefined) fault('indicator', { type: 'missing' });
  if (one !== undefined && indicators !== undefined)
    fault('indicators', excludes('indicators must not be sent together with indicator'));
  if (fields !== undefined && layout === 'wide')
    fault('fields', excludes('fields must not be sent together with layout=wide'));
}

interface ShapeQuery {
  indicator?: string | undefined;
  indicators?: string[] | undefined;
  fields?: Field[] | undefined;
  layout?: string | undefined;
}
