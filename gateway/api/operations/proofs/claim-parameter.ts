/** The parameter `claim`: `<indicator>,<iso3>,<year>,<value as text>`, repeated for several claims. */
import { z } from 'zod';
import { COUNTRY_CODE, fail } from '../parameters/parameters.ts';
import type { Failure } from '../parameters/validation.ts';
import type { Claim } from './claims/check-claim.ts';
import { NUMBER_EXPECTED, NUMBER_PATTERN, readNumber } from './claims/claimed-number.ts';

export const CLAIMS_MAX = 50;

const YEAR = /^-?\d{1,5}$/;
/** Without blanks around the parts. */
const PATTERN = `^[^,\\s]+,[A-Za-z]{3},-?[0-9]{1,5},${NUMBER_PATTERN}$`;
const PARTS = ['indicator', 'iso3', 'year', 'value'] as const;

/** The claims in the order sent. Errors name the index of the claim and the part. */
export const claimList = () =>
  z
    .array(z.string())
    .transform((sent, ctx): Claim[] => {
      if (sent.length > CLAIMS_MAX) {
        const bounds = { max_length: CLAIMS_MAX, actual_length: sent.length };
        return fail(ctx, { type: 'too_long', ctx: bounds });
      }
      const claims: Claim[] = [];
      const failures: Failure[] = [];
      for (const [at, text] of sent.entries()) {
        const read = readClaim(text);
        if (Array.isArray(read)) failures.push(...read.map((failure) => ({ ...failure, at })));
        else claims.push(read);
      }
      return failures.length > 0 ? fail(ctx, ...failures) : claims;
    })
    .describe(
      '`<indicator>,<iso3>,<year>,<value>`, for example `world-bank.SP.POP.TOTL,KEN,2020,52000000`. The value is ' +
        `${NUMBER_EXPECTED}: its digits tell how far it is rounded. Repeat the parameter for up to ${CLAIMS_MAX} claims`,
    )
    .meta({ type: 'array', items: { type: 'string', pattern: PATTERN }, minItems: 1, maxItems: CLAIMS_MAX });

/** A claim, or what is wrong with its parts. Everything after the third comma is the value. */
function readClaim(text: string): Claim | Failure[] {
  const [indicator = '', iso3, year, ...rest] = text.split(',').map((part) => part.trim());
  const value = rest.length > 0 ? rest.join(',') : undefined;
  const number = value === undefined ? null : readNumber(value);
  const failures = [
    indicator === '' && failureOf('indicator', indicator, 'an indicator id'),
    !(iso3 && COUNTRY_CODE.test(iso3)) && failureOf('iso3', iso3, 'a code of three letters'),
    !(year && YEAR.test(year)) && failureOf('year', year, 'a year'),
    number === null && failureOf('value', value, NUMBER_EXPECTED),
  ].filter((failure) => failure !== false);
  if (failures.length > 0 || number === null || iso3 === undefined) return failures;
  // The sum makes a year of -0 a 0.
  return { text, indicator, iso3: iso3.toUpperCase(), year: Number(year) + 0, number };
}

/** @param sent undefined for a claim that ends before this part. */
function failureOf(part: (typeof PARTS)[number], sent: string | undefined, expected: string): Failure {
  if (sent === undefined) return { type: 'missing', part };
  return { type: 'string_pattern_mismatch', ctx: { expected }, input: sent, part };
}
