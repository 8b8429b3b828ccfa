/** GET /data: raw observations of one indicator, as JSON or CSV. */
import { z } from 'zod';
import { indicatorId, iso3, observationRow } from '../../data/schema/records.ts';
import { DEFAULT_FORMAT, FORMATS } from '../encoders/registry.ts';
import { asOf, asOfEcho } from './as-of.ts';
import { count, credit, envelope } from './envelope.ts';
import { indicatorNotFound } from './indicator.ts';
import { type Content, defineOperation, type Planned, refused, sentOnly } from './operation.ts';
import { fail, integer, oneOf, text } from './parameters.ts';
import type { Failure } from './validation.ts';

const COUNTRIES_MAX = 300;
const THREE_LETTERS = /^[A-Za-z]{3}$/;

/** Distinct codes in the order sent. A blank list is an error, so that it never means the whole indicator. */
const countryList = text()
  .transform((sent, ctx): string[] => {
    const codes = sent.split(',').map((code) => code.trim());
    const failures = codes.flatMap((code, at): Failure[] =>
      THREE_LETTERS.test(code)
        ? []
        : [
            {
              type: 'string_pattern_mismatch',
              ctx: { expected: 'a code of three letters' },
              input: code,
              at,
            },
          ],
    );
    if (failures.length > 0) return fail(ctx, ...failures.slice(0, COUNTRIES_MAX));
    const distinct = [...new Set(codes.map((code) => code.toUpperCase()))];
    if (distinct.length <= COUNTRIES_MAX) return distinct;
    return fail(ctx, {
      type: 'too_long',
      ctx: { max_length: COUNTRIES_MAX, actual_length: distinct.length },
    });
  })
  .meta({ type: 'string' });

const indicatorText = text().transform((sent, ctx) =>
  sent === '' ? fail(ctx, { type: 'string_too_short', ctx: { min_length: 1 } }) : sent,
);

const query = z
  .object({
    indicator: indicatorText.describe('Indicator id').meta({ type: 'string', minLength: 1 }),
    countries: countryList
      .optional()
      .describe(`ISO 3166-1 alpha-3 codes separated by commas, at most ${COUNTRIES_MAX}; default all`),
    from: integer().optional().describe('First year, inclusive'),
    to: integer().optional().describe('Last year, inclusive'),
    format: oneOf(FORMATS).optional().describe('Default `json`').meta({ default: DEFAULT_FORMAT }),
    as_of: asOf().optional(),
  })
  .superRefine(({ from, to }, ctx) => {
    if (from === undefined || to === undefined || from <= to) return;
    const failure: Failure = { type: 'value_error', ctx: { error: 'from must not be after to' } };
    ctx.addIssue({ code: 'custom', path: ['from'], params: { failure } });
  });

export const data = defineOperation({
  name: 'getData',
  path: '/data',
  tag: 'Data',
  summary: 'Observations',
  description:
    'The observations of one indicator, ordered by country and year. Costs a credit per row, at least one. ' +
    'A missing measurement is a row with null. Codes without data match nothing.',
  needsKey: true,
  priceText: 'max(1, rows) credits',
  isCacheable: false,
  pathParameters: {},
  query,
  answer: envelope(z.array(observationRow), {
    count,
    indicator: indicatorId,
    name: z.string(),
    unit: z.string().nullable(),
    licence_url: z.string().nullable(),
    ...credit,
    countries: z.array(iso3).optional().describe('Normalised; in the order sent, each once'),
    from: z.int().optional(),
    to: z.int().optional(),
    format: z.enum(FORMATS).optional(),
    ...asOfEcho,
  }),
  formats: FORMATS,
  errors: ['indicator_not_found', 'export_restricted', 'edition_not_found'],
  asOf: ({ as_of }) => as_of,
  async plan({ snapshot, query: { indicator: id, countries, from, to, format, as_of } }): Promise<Planned> {
    const found = snapshot.indicator(id);
    const item = found instanceof Promise ? await found : found;
    if (!item) return indicatorNotFound(id);
    const { record: indicator } = item;
    if (indicator.access_tier === 'display') return refused('export_restricted');
    const rows = await snapshot.observations.select(id, { countries: countries?.toSorted(), from, to });
    const meta = {
      generated_at: snapshot.generatedAt,
      count: rows.count,
      indicator: id,
      name: indicator.name,
      unit: indicator.unit,
      licence: indicator.licence,
      licence_url: indicator.licence_url,
      attribution: indicator.attribution,
      ...sentOnly({ countries, from, to, format, as_of: as_of?.sent }),
    };
    const content: Content = {
      kind: 'table',
      table: { indicator, rows, meta },
      format: format ?? DEFAULT_FORMAT,
    };
    return { kind: 'plan', price: Math.max(1, rows.count), rows: rows.count, produce: () => content };
  },
});
