/** Query parameters that several pages and pictures have. */
import { COUNTRY_CODE, fail, integer, text } from '../api/operations/parameters/parameters.ts';

/** The most countries whose histories one picture shows. */
export const PICTURED_MAX = 6;

/** Distinct codes separated by commas, upper-cased, in the order sent. Blanks are passed over: forms send them. */
export const picturedCountries = (max = PICTURED_MAX) =>
  text().transform((sent, ctx): string[] => {
    const codes = [...new Set(sent.split(',').flatMap((part) => part.trim() || []))];
    const wrong = codes.find((code) => !COUNTRY_CODE.test(code));
    if (wrong !== undefined)
      return fail(ctx, { type: 'string_pattern_mismatch', ctx: { expected: 'ISO3 codes' }, input: wrong });
    if (codes.length > max)
      return fail(ctx, { type: 'too_long', ctx: { max_length: max, actual_length: codes.length } });
    return codes.map((code) => code.toUpperCase());
  });

export const year = () => integer({ min: -10_000, max: 10_000 });
