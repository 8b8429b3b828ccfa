/** Groups of countries as operations know them, and what lists of countries stand for. */
import { fileURLToPath } from 'node:url';
import { loadGroups, membersOf } from '../../../../data/curated/places.ts';
import { Problems } from '../../../../data/curated/table.ts';
import type { CountryGroup } from '../../../../data/schema/curated.ts';
import type { Edition } from '../../snapshot/editions/edition.ts';

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
