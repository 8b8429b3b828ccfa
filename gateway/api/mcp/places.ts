/**
 * Places by any usual name: codes, common, official and former names, groups. An ambiguous name is asked back even where
 * it is some country's exact name; Georgia, Guinea, Sudan, Ireland and Micronesia are countries and mean themselves.
 */
import { fileURLToPath } from 'node:url';
import { distance } from 'fastest-levenshtein';
import {
  foldName,
  loadAmbiguousNames,
  loadCountries,
  loadPlaces,
  type PlaceTable,
} from '../../../data/curated/places.ts';
import { Problems } from '../../../data/curated/table.ts';
import type { CountryGroup } from '../../../data/schema/curated.ts';
import type { CountryRecord } from '../../../data/schema/records.ts';
import { GROUP_MARK, GROUPS, servedMembers } from '../operations/operations.ts';
import type { Edition } from '../snapshot/snapshot.ts';
import { PLACE_ECHO_MAX, type Refusal } from './answer.ts';

export type Place =
  | { kind: 'country'; country: CountryRecord }
  | { kind: 'group'; group: CountryGroup; members: string[] }
  | { kind: 'refused'; refusal: Refusal };

interface Names {
  table: PlaceTable;
  /** Codes of the countries that a name may mean, by folded name. */
  ambiguous: ReadonlyMap<string, readonly string[]>;
}

/** In the order in which they count. `spoken` holds names that people say and no provider writes. */
const SCHEMES = ['iso3', 'iso2', 'names', 'spoken'];
const M49 = /^[0-9]{3}$/;
const SUGGESTED_MAX = 3;
const PLACES_FILE = '../../../data';

let names: Promise<Names> | undefined;

/** Read when first wanted: a start does not wait for it. */
async function readNames(): Promise<Names> {
  const problems = new Problems();
  const file = (name: string): string => fileURLToPath(new URL(`${PLACES_FILE}/${name}`, import.meta.url));
  const spine = await loadCountries(file('countries.csv'), problems);
  const table = await loadPlaces(file('places.csv'), spine, problems);
  const ambiguous = loadAmbiguousNames(file('ambiguous-names.csv'), spine, problems);
  problems.throwIfAny();
  return { table, ambiguous };
}

const choice = ({ iso3, name }: CountryRecord) => ({ iso3, name });

/** What a text means in an edition. Nothing is guessed: what is close is suggested. */
export async function findPlace(sent: string, edition: Edition): Promise<Place> {
  names ??= readNames();
  const { table, ambiguous } = await names;
  const text = sent.trim();
  const place = text.slice(0, PLACE_ECHO_MAX);
  const found = M49.test(text) ? byM49(text, edition) : table.resolve(SCHEMES, text);
  const byName = found.kind === 'country' ? undefined : groupsByName.get(foldName(text));
  const group = groupById(text) ?? byName;
  if (group !== undefined) return { kind: 'group', group, members: servedMembers(group, edition) };
  const meant = ambiguous.get(foldName(text));
  if (meant !== undefined) return ambiguousPlace(place, meant, edition);
  if (found.kind === 'country') return servedCountry(found.iso3, place, edition);
  if (found.kind === 'unknown') return unknownPlace(place, edition);
  const message =
    found.kind === 'historical'
      ? `“${place}” is a former state. Almanac holds figures of present countries only, and gives none for it.`
      : `“${place}” is not a country: Almanac holds no figure for it as a whole.${groupHint(place)}`;
  return { kind: 'refused', refusal: { reason: 'not_a_country', message, place } };
}

function ambiguousPlace(place: string, meant: readonly string[], { countriesByCode }: Edition): Place {
  const candidates = meant.flatMap((iso3) => countriesByCode.get(iso3) ?? []).map(choice);
  const message = `“${place}” may mean more than one country (${meant.join(' or ')}): ask which one is meant.`;
  return { kind: 'refused', refusal: { reason: 'ambiguous_place', message, place, candidates } };
}

function servedCountry(iso3: string, place: string, { countriesByCode }: Edition): Place {
  const country = countriesByCode.get(iso3);
  if (country !== undefined) return { kind: 'country', country };
  const message = `Almanac holds no figures of “${place}” (${iso3}).`;
  return { kind: 'refused', refusal: { reason: 'not_held', message, place } };
}

function byM49(code: string, { countriesByCode }: Edition): ReturnType<PlaceTable['resolve']> {
  for (const { iso3, m49 } of countriesByCode.values())
    if (m49 === Number(code)) return { kind: 'country', iso3 };
  return { kind: 'unknown' };
}

/** By `@` and id, or by id. */
function groupById(text: string): CountryGroup | undefined {
  const id = (text.startsWith(GROUP_MARK) ? text.slice(GROUP_MARK.length) : text).trim().toLowerCase();
  return GROUPS.get(id) ?? GROUPS.get(id.replaceAll(/[\s_]+/g, '-'));
}

/** By name without what stands in brackets. Names that more than one group has, such as the regions of two organisations, mean none of them. */
const groupsByName: ReadonlyMap<string, CountryGroup> = new Map(
  [...Map.groupBy(GROUPS.values(), ({ name }) => foldName(name.replace(/\s*\(.*/, '')))].flatMap(
    ([name, [first, ...others]]) =>
      first !== undefined && others.length === 0 ? [[name, first] as const] : [],
  ),
);

function groupHint(place: string): string {
  const folded = foldName(place);
  const close = [...GROUPS.values()].filter(({ name }) => foldName(name).startsWith(folded));
  if (close.length === 0) return '';
  return ` Its countries can be asked for as ${close.map(({ id, name }) => `${GROUP_MARK}${id} (${name})`).join(' or ')}.`;
}

function unknownPlace(place: string, { countries }: Edition): Place {
  const folded = foldName(place);
  const candidates = countries
    .map(({ record }) => ({ record, steps: distance(folded, foldName(record.name)) }))
    .filter(({ steps }) => steps <= Math.max(1, folded.length / 4))
    .toSorted((a, b) => a.steps - b.steps)
    .slice(0, SUGGESTED_MAX)
    .map(({ record }) => choice(record));
  const hint = candidates.length === 0 ? '' : ' Ask whether one of the candidates is meant.';
  const message = `Almanac knows no country or group “${place}”.${hint}`;
  const refusal: Refusal = { reason: 'unknown_place', message, place };
  return { kind: 'refused', refusal: candidates.length === 0 ? refusal : { ...refusal, candidates } };
}

export interface AskedPlaces {
  /** Each country once, in the order asked for. */
  countries: string[];
  /** Those that were named by themselves, and not as members of a group. */
  named: string[];
  /** Each once. */
  groups: { group: string; name: string; members: string[] }[];
  refusals: Refusal[];
}

export async function findPlaces(sent: readonly string[], edition: Edition): Promise<AskedPlaces> {
  const countries = new Set<string>();
  const named = new Set<string>();
  const groups = new Map<string, AskedPlaces['groups'][number]>();
  const refusals: Refusal[] = [];
  for (const text of sent) {
    const place = await findPlace(text, edition);
    if (place.kind === 'refused') refusals.push(place.refusal);
    else if (place.kind === 'country') {
      countries.add(place.country.iso3);
      named.add(place.country.iso3);
    } else {
      const { group, members } = place;
      groups.set(group.id, { group: GROUP_MARK + group.id, name: group.name, members });
      for (const member of members) countries.add(member);
    }
  }
  return { countries: [...countries], named: [...named], groups: [...groups.values()], refusals };
}
