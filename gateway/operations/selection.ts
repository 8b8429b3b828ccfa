/** The parameters that select rows of one indicator. */
import type { z } from 'zod';
import { COUNTRY_CODE, fail, integer, text } from './parameters.ts';
import type { Failure } from './validation.ts';

const COUNTRIES_MAX = 300;

/** Distinct codes in the order sent. A blank list is an error, so that it never means the whole indicator. */
const countryList = text()
  .transform((sent, ctx): string[] => {
    const codes = sent.split(',').map((code) => code.trim());
    const failures = codes.flatMap((code, at): Failure[] =>
      COUNTRY_CODE.test(code)
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

export const selection = {
  indicator: indicatorText.describe('Indicator id').meta({ type: 'string', minLength: 1 }),
  countries: countryList
    .optional()
    .describe(`ISO 3166-1 alpha-3 codes separated by commas, at most ${COUNTRIES_MAX}; default all`),
  from: integer().optional().describe('First year, inclusive'),
  to: integer().optional().describe('Last year, inclusive'),
};

/** For `superRefine`. */
export function checkYears(
  { from, to }: { from?: number | undefined; to?: number | undefined },
  ctx: z.core.$RefinementCtx,
): void {
  if (from === undefined || to === undefined || from <= to) return;
  const failure: Failure = { type: 'value_error', ctx: { error: 'from must not be after to' } };
  ctx.addIssue({ code: 'custom', path: ['from'], params: { failure } });
}
