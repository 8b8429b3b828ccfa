/** Groups of countries, lists of places and what they stand for, and the parameters that select rows of one indicator. */
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { loadGroups, membersOf } from '../../../../data/curated/places.ts';
import { Problems } from '../../../../data/curated/table.ts';
import type { CountryGroup } from '../../../../data/schema/curated.ts';
import type { Edition } from '../../snapshot/snapshot.ts';
import { fail, integer, nonEmpty, parsed } from './parameters.ts';
import type { Failure } from './validation.ts';

/** Marks a group in a list of countries. */
export const GROUP_MARK = '@';

/**
 * Read once, when the program starts: the parameters are described by it. Not by a top-level await: while a worker process
 * waits in one, it loses the message that starts it.
 */
function readGroups(): CountryGroup[] {
  const problems = new Problems();
  const file = fileURLToPath(new URL('../../../../data/groups.csv', import.meta.url));
  const groups = loadGroups(file, null, problems);
  problems.throwIfAny();
  return groups;
}

/** By id, in the curated order. */
export const GROUPS: ReadonlyMap<string, CountryGroup> = new Map(
  readGroups().map((group) => [group.id, group]),
);

/** The served countries of a group, sorted. */
export const servedMembers = (group: CountryGroup, { countriesByCode }: Edition): string[] =>
  membersOf(group, countriesByCode.values());

const ISO3 = /^[A-Z]{3}$/;

/**
 * The ISO3 codes that places stand for, each once, in the order of the places. A code that no country has stays as it is.
 * @param places ISO3, ISO2 and M49 codes, upper case, and groups.
 */
export function countryCodes(places: readonly string[], snapshot: Edition): string[] {
  if (places.every((place) => ISO3.test(place))) return [...places];
  const iso3Of = new Map<string, string>();
  for (const { iso3, iso2, m49 } of snapshot.countriesByCode.values()) {
    if (iso2 !== null) iso3Of.set(iso2, iso3);
    if (m49 !== null) iso3Of.set(String(m49).padStart(3, '0'), iso3);
  }
  const codes = places.flatMap((place) => {
    const group = place.startsWith(GROUP_MARK) ? GROUPS.get(place.slice(GROUP_MARK.length)) : undefined;
    return group === undefined ? [iso3Of.get(place) ?? place] : servedMembers(group, snapshot);
  });
  return [...new Set(codes)];
}

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

export const selection = {
  indicator: nonEmpty().describe('Indicator id').meta({ type: 'string', minLength: 1 }),
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
