/** The parameters that select rows of one indicator. */
import { z } from 'zod';
import { GROUP_MARK, GROUPS } from '../catalogue/country-groups.ts';
import { fail, integer, parsed, text } from '../parameters/parameters.ts';
import type { Failure } from '../parameters/validation.ts';

const COUNTRIES_MAX = 300;
const CODE = /^([A-Za-z]{2,3}|[0-9]{3})$/;
/** A code, or what looks like a group. */
const PLACE = `([A-Za-z]{2,3}|[0-9]{3}|${GROUP_MARK}[A-Za-z0-9-]+)`;

/** A code in upper case, or a group; a failure for anything else. */
function place(sent: string): string | Failure {
  if (CODE.test(sent)) return sent.toUpperCase();
  if (!sent.startsWith(GROUP_MARK)) {
    const expected =
      'an ISO 3166-1 code of three or two letters, an M49 code of three digits, or @ and a group';
    return { type: 'string_pattern_mismatch', ctx: { expected }, input: sent };
  }
  const id = sent.slice(GROUP_MARK.length).toLowerCase();
  if (GROUPS.has(id)) return GROUP_MARK + id;
  return {
    type: 'value_error',
    ctx: { error: 'there is no such group; /v1/groups lists them' },
    input: sent,
  };
}

/** Distinct places in the order sent. A blank list is an error, so that it never means the whole indicator. */
const placeList = parsed((sent, ctx): string[] => {
  const places = sent.split(',').map((part) => place(part.trim()));
  const failures = places.flatMap((one, at): Failure[] => (typeof one === 'string' ? [] : [{ ...one, at }]));
  if (failures.length > 0) return fail(ctx, ...failures.slice(0, COUNTRIES_MAX));
  const distinct = [...new Set(places.filter((one) => typeof one === 'string'))];
  if (distinct.length <= COUNTRIES_MAX) return distinct;
  return fail(ctx, {
    type: 'too_long',
    ctx: { max_length: COUNTRIES_MAX, actual_length: distinct.length },
  });
}).meta({ type: 'string', pattern: `^${PLACE}(,${PLACE}){0,${COUNTRIES_MAX - 1}}$` });

const indicatorText = text().transform((sent, ctx) =>
  sent === '' ? fail(ctx, { type: 'string_too_short', ctx: { min_length: 1 } }) : sent,
);

export const selection = {
  indicator: indicatorText.describe('Indicator id').meta({ type: 'string', minLength: 1 }),
  countries: placeList
    .optional()
    .describe(
      `Separated by commas, at most ${COUNTRIES_MAX}; default all. ISO3, ISO2 or M49 codes, and groups such as \`@eu\`: /v1/groups lists them`,
    ),
  from: integer().optional().describe('First year, inclusive'),
  to: integer().optional().describe('Last year, inclusive'),
};

/** `countries` as `meta` repeats it. */
export const countriesEcho = z
  .array(z.string())
  .optional()
  .describe(
    'ISO3 codes in the order sent, each once, groups as their members; other codes where no country has them',
  );

/** For `superRefine`. */
export function checkYears(
  { from, to }: { from?: number | undefined; to?: number | undefined },
  ctx: z.core.$RefinementCtx,
): void {
  if (from === undefined || to === undefined || from <= to) return;
  const failure: Failure = { type: 'value_error', ctx: { error: 'from must not be after to' } };
  ctx.addIssue({ code: 'custom', path: ['from'], params: { failure } });
}
