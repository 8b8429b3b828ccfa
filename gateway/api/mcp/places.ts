/** What the places of a tool's arguments mean in an edition, as `placeNamed` reads them. */
import type { CountryGroup } from '../../../data/schema/curated.ts';
import type { CountryRecord } from '../../../data/schema/records.ts';
import { GROUP_MARK, PLACE_ECHO_MAX, placeNamed, servedMembers } from '../operations/operations.ts';
import type { Edition } from '../snapshot/snapshot.ts';
import type { Refusal } from './answer.ts';

export type Place =
  | { kind: 'country'; country: CountryRecord }
  | { kind: 'group'; group: CountryGroup; members: string[] }
  | { kind: 'refused'; refusal: Refusal };

export function findPlace(sent: string, edition: Edition): Place {
  const { countriesByCode } = edition;
  const named = placeNamed(sent);
  const place = sent.trim().slice(0, PLACE_ECHO_MAX);
  if (named.kind === 'group') return { ...named, members: servedMembers(named.group, edition) };
  if (named.kind === 'country') {
    const country = countriesByCode.get(named.iso3);
    if (country !== undefined) return { kind: 'country', country };
    const message = `Almanac holds no figures of “${place}” (${named.iso3}).`;
    return { kind: 'refused', refusal: { reason: 'not_held', message, place } };
  }
  const { reason, message } = named;
  const candidates = named.candidates.filter((one) => 'group' in one || countriesByCode.has(one.iso3));
  const refusal: Refusal = { reason, message, place };
  return { kind: 'refused', refusal: candidates.length === 0 ? refusal : { ...refusal, candidates } };
}

export interface AskedPlaces {
  /** Each country once, in the order asked for; and each group that is one place. */
  countries: string[];
  /** Those that were named by themselves, and not as members of a group. */
  named: string[];
  /** Each once. */
  groups: { group: string; name: string; members: string[] }[];
  refusals: Refusal[];
}

/** What a group means: each of its members, or one place. */
export type GroupsAs = 'members' | 'figure';

export function findPlaces(
  sent: readonly string[],
  edition: Edition,
  groupsAs: GroupsAs = 'members',
): AskedPlaces {
  const countries = new Set<string>();
  const named = new Set<string>();
  const groups = new Map<string, AskedPlaces['groups'][number]>();
  const refusals: Refusal[] = [];
  for (const text of sent) {
    const place = findPlace(text, edition);
    if (place.kind === 'refused') refusals.push(place.refusal);
    else if (place.kind === 'country') {
      countries.add(place.country.iso3);
      named.add(place.country.iso3);
    } else {
      const { group, members } = place;
      const code = GROUP_MARK + group.id;
      groups.set(group.id, { group: code, name: group.name, members });
      if (groupsAs === 'figure') named.add(code);
      for (const place of groupsAs === 'figure' ? [code] : members) countries.add(place);
    }
  }
  return { countries: [...countries], named: [...named], groups: [...groups.values()], refusals };
}

/** How figures of these places are asked for. */
export const aggregateOf = (
  places: AskedPlaces | undefined,
  groupsAs: GroupsAs | undefined,
): 'declared' | undefined =>
  groupsAs === 'figure' && places !== undefined && places.groups.length > 0 ? 'declared' : undefined;
