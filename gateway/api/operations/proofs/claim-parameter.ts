/** The parameter `claim`: `<indicator>,<country>,<year>,<value as text>`, repeated for several claims. */
import { z } from 'zod';
import { COUNTRY_CODE, fail } from '../parameters/parameters.ts';
import { placeNamed } from '../parameters/place-names.ts';
import type { Claim } from './claims/check-claim.ts';
import { NUMBER_EXPECTED, readNumber } from './claims/claimed-number.ts';

export const CLAIMS_MAX = 50;

const YEAR = /^-?\d{1,5}$/;

/** What each part of a claim is, in the order in which they are sent. */
const EXPECTED = {
  indicator: 'an indicator id',
  iso3: 'a country, by code or name',
  year: 'a year',
  value: NUMBER_EXPECTED,
} as const;
export const PARTS = ['indicator', 'iso3', 'year', 'value'] as const satisfies (keyof typeof EXPECTED)[];

/** A claim that cannot be judged. */
export interface UnreadClaim {
  text: string;
  indicator: string;
  iso3: string | null;
  year: number | null;
  /** The parts that cannot be read, and what they may be. */
  unread: { part: (typeof PARTS)[number]; expected: string }[];
}

/** The claims in the order sent. One that cannot be read does not refuse the others. */
export const claimList = () =>
  z
    .array(z.string())
    .transform((sent, ctx): (Claim | UnreadClaim)[] => {
      if (sent.length <= CLAIMS_MAX) return sent.map(readClaim);
      const bounds = { max_length: CLAIMS_MAX, actual_length: sent.length };
      return fail(ctx, { type: 'too_long', ctx: bounds });
    })
    .describe(
      '`<indicator>,<country>,<year>,<value>`, for example `world-bank.SP.POP.TOTL,KEN,2020,52 million`. The value is ' +
        `${NUMBER_EXPECTED}: its digits tell how far it is rounded. Repeat the parameter for up to ${CLAIMS_MAX} claims`,
    )
    .meta({ type: 'array', items: { type: 'string' }, minItems: 1, maxItems: CLAIMS_MAX });

/** Everything after the third comma is the value. */
function readClaim(text: string): Claim | UnreadClaim {
  const [indicator = '', code = '', inYear = '', ...rest] = text.split(',').map((part) => part.trim());
  const named = COUNTRY_CODE.test(code) ? null : placeNamed(code);
  const iso3 = named === null ? code.toUpperCase() : named.kind === 'country' ? named.iso3 : null;
  // The sum makes a year of -0 a 0.
  const year = YEAR.test(inYear) ? Number(inYear) + 0 : null;
  const number = readNumber(rest.join(','));
  if (indicator !== '' && iso3 !== null && year !== null && number !== null)
    return { text, indicator, iso3, year, number };
  const read = { indicator: indicator || null, iso3, year, value: number };
  const unread = PARTS.filter((part) => read[part] === null);
  return {
    text,
    indicator,
    iso3,
    year,
    unread: unread.map((part) => ({ part, expected: EXPECTED[part] })),
  };
}
