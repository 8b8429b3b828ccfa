/** Lists of places and what they stand for, and the parameters that select rows of one indicator. */
import { z } from 'zod';
import type { Edition } from '../../snapshot/snapshot.ts';
import { fail, integer, nonEmpty, parsed, yearList } from './parameters.ts';
import { GROUP_MARK, GROUPS, placeNamed, servedMembers } from './place-names.ts';
import type { Failure } from './validation.ts';

const ISO3 = /^[A-Z]{3}$/;

/**
 * The ISO3 codes that places stand for, each once, in the order of the places. A code that no country has stays as it is.
 * @param places ISO3, ISO2 and M49 codes, upper case, and groups.
 * @param keepsGroups leaves groups as they are, instead of their members.
 */
export function countryCodes(places: readonly string[], snapshot: Edition, keepsGroups = false): string[] {
  if (places.every((place) => ISO3.test(place))) return [...places];
  const iso3Of = new Map<string, string>();
  for (const { iso3, iso2, m49 } of snapshot.countriesByCode.values()) {
    if (iso2 !== null) iso3Of.set(iso2, iso3);
    if (m49 !== null) iso3Of.set(String(m49).padStart(3, '0'), iso3);
  }
  const codes = places.flatMap((place) => {
    const group =
      !keepsGroups && place.startsWith(GROUP_MARK) ? GROUPS.get(place.slice(GROUP_MARK.length)) : undefined;
    return group === undefined ? [iso3Of.get(place) ?? place] : servedMembers(group, snapshot);
  });
  return [...new Set(codes)];
}

const COUNTRIES_MAX = 300;
/** Looking for names that are spelt alike takes 0.1 ms each. */
const FAILURES_MAX = 20;
/** No name is longer. */
const NAME_MAX = 100;
const CODE = /^([A-Za-z]{2,3}|[0-9]{3})$/;
const PLACE = `[^,\\s][^,]{0,${NAME_MAX - 1}}`;

/** A code in upper case, also that of a country that is named, or a group; a failure for anything else. */
function place(sent: string): string | Failure {
  if (CODE.test(sent)) return sent.toUpperCase();
  if (sent.length === 0 || sent.length > NAME_MAX) {
    const expected =
      'an ISO 3166-1 code of three or two letters, an M49 code of three digits, a name, or @ and a group';
    return { type: 'string_pattern_mismatch', ctx: { expected }, input: sent };
  }
  const named = placeNamed(sent);
  if (named.kind === 'country') return named.iso3;
  if (named.kind === 'group') return GROUP_MARK + named.group.id;
  const { reason, message: error, candidates } = named;
  return { type: 'value_error', ctx: { error, reason, candidates }, input: sent };
}

/** Distinct places in the order sent. A blank list is an error, so that it never means the whole indicator. */
const placeList = parsed((sent, ctx): string[] => {
  const parts = sent.split(',').map((part) => part.trim());
  const { size } = new Set(parts.map((part) => part.toUpperCase()));
  if (size > COUNTRIES_MAX)
    return fail(ctx, { type: 'too_long', ctx: { max_length: COUNTRIES_MAX, actual_length: size } });
  const places: (string | Failure)[] = [];
  const failures: Failure[] = [];
  for (const [at, part] of parts.entries()) {
    const one = place(part);
    places.push(one);
    if (typeof one !== 'string') failures.push({ ...one, at });
    if (failures.length === FAILURES_MAX) break;
  }
  if (failures.length > 0) return fail(ctx, ...failures);
  return [...new Set(places.filter((one) => typeof one === 'string'))];
}).meta({ type: 'string', pattern: `^${PLACE}(,${PLACE}){0,${COUNTRIES_MAX - 1}}$` });

export const selection = {
  indicator: nonEmpty().describe('Indicator id').meta({ type: 'string', minLength: 1 }),
  countries: placeList
    .optional()
    .describe(
      `Separated by commas, at most ${COUNTRIES_MAX}; default all. ISO3, ISO2 or M49 codes, groups such as \`@eu\` (/v1/groups lists them), and names without a comma: \`Viet Nam\`, \`the EU\`. An ambiguous name is 422 with \`candidates\`; X-Unmatched-Countries names codes that no country has`,
    ),
  from: integer().optional().describe('First year, inclusive'),
  to: integer().optional().describe('Last year, inclusive'),
  years: yearList()
    .optional()
    .describe('These years alone, separated by commas, instead of `from` and `to`: `2000,2010`'),
};

/** One place: a code, also that of a country that is named, or a group. */
export const onePlace = () =>
  parsed((sent, ctx): string => {
    const found = place(sent.trim());
    return typeof found === 'string' ? found : fail(ctx, found);
  }).meta({ type: 'string', pattern: `^${PLACE}$` });

/** A group of one's own. */
export const ownGroup = () =>
  placeList
    .optional()
    .describe(
      'Countries that together are one place, three or more, with the figure made of theirs: `KEN,UGA,TZA`. Without `countries` the only rows',
    );

/** `countries` as `meta` repeats it. */
export const countriesEcho = z
  .array(z.string())
  .optional()
  .describe(
    'ISO3 codes in the order sent, each once, groups as their members; other codes where no country has them',
  );

/** The years as `meta` repeats them. */
export const yearsEcho = {
  from: z.int().optional(),
  to: z.int().optional(),
  years: z.array(z.int()).optional().describe('Ascending, each once'),
};
