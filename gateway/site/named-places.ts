/** Places and years that somebody names among the words of a search, and where they lead. */
import type { IndicatorRecord } from '../../data/schema/records.ts';
import { type Found, GROUP_MARK, placesBeginning } from '../api/operations/operations.ts';
import type { Edition } from '../api/snapshot/snapshot.ts';
import { withQuery } from './lists.ts';
import { PICTURED_MAX } from './subjects.ts';

/** Unless more are named. */
const COUNTRIES_MAX = 3;
const GROUPS_MAX = 2;

type NamedInWords = Pick<Found, 'countries' | 'groups' | 'years'>;

/**
 * The path of an indicator with the places drawn and the year mapped that somebody named; a group as one place, where the
 * edition has figures of it and the series aggregates. @throws {SnapshotUnreadable}
 */
export async function pathsWithNamed(edition: Edition, { countries, groups, years }: NamedInWords) {
  const { indicators } = await edition.wholeCatalogue();
  const held = groups.length === 0 ? null : await edition.groups();
  const drawn = countries.map(({ iso3 }) => iso3);
  const asPlaces = groups.flatMap(({ id }) =>
    held?.groups.some((group) => group.id === id) ? GROUP_MARK + id : [],
  );
  return ({ id, coverage, access_tier }: IndicatorRecord): string => {
    const { yr_min, yr_max } = coverage ?? {};
    const year = years.find((one) => one >= (yr_min ?? Infinity) && one <= (yr_max ?? -Infinity));
    const isAggregated = (indicators.get(id)?.measured?.aggregate ?? 'none') !== 'none';
    const added = isAggregated && access_tier === 'open' ? asPlaces : [];
    return withQuery(`/indicators/${id}`, {
      countries: [...drawn, ...added].slice(0, PICTURED_MAX).join(),
      year,
      aggregate: added.length === 0 ? undefined : 'declared',
    });
  };
}

/** Pages of countries, and of the members of groups. */
export const placeLinks = ({
  countries,
  groups,
}: NamedInWords): { path: string; name: string; note: string }[] => [
  ...countries.map(({ iso3, name }) => ({ path: `/countries/${iso3}`, name, note: 'country' })),
  ...groups.map(({ id, name }) => ({ path: withQuery('/countries', { group: id }), name, note: 'group' })),
];

/** Those that the words name, and some whose names begin with them. */
export function placesFor(edition: Edition, words: string, named: NamedInWords): NamedInWords {
  const beginning = placesBeginning(words);
  const begun = {
    countries: beginning.flatMap((one) =>
      'iso3' in one && edition.countriesByCode.has(one.iso3) ? one : [],
    ),
    groups: beginning.flatMap((one) =>
      'group' in one ? { id: one.group.slice(GROUP_MARK.length), name: one.name } : [],
    ),
  };
  const countries = new Map([...named.countries, ...begun.countries].map((one) => [one.iso3, one]));
  const groups = new Map([...named.groups, ...begun.groups].map((one) => [one.id, one]));
  return {
    countries: [...countries.values()].slice(0, Math.max(COUNTRIES_MAX, named.countries.length)),
    groups: [...groups.values()].slice(0, Math.max(GROUPS_MAX, named.groups.length)),
    years: [],
  };
}
