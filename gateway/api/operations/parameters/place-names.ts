/**
 * What a text means: a country or a group of countries, by code or by any usual name. A name that may mean more than one
 * place is asked back even where it is some country's exact name; Georgia, Guinea, Sudan, Ireland and Micronesia are
 * countries and mean themselves. Nothing is guessed: what is spelt alike is a candidate.
 */
import { fileURLToPath } from 'node:url';
import { distance } from 'fastest-levenshtein';
import {
  foldName,
  loadAmbiguousNames,
  loadCountries,
  loadGroups,
  loadPlaces,
  membersOf,
  type Place,
  type PlaceTable,
} from '../../../../data/curated/places.ts';
import { Problems } from '../../../../data/curated/table.ts';
import type { CountryGroup, PlaceKind } from '../../../../data/schema/curated.ts';
import type { Edition } from '../../snapshot/snapshot.ts';

/** Marks a group in a list of countries. */
export const GROUP_MARK = '@';

const fileOf = (name: string): string => fileURLToPath(new URL(`../../../../data/${name}`, import.meta.url));

/**
 * Read once, when the program starts: the parameters are described by it. Not by a top-level await: while a worker process
 * waits in one, it loses the message that starts it.
 */
function readGroups(): CountryGroup[] {
  const problems = new Problems();
  const groups = loadGroups(fileOf('groups.csv'), null, problems);
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

/** A place that may be meant; a group by `@` and id. */
export type PlaceCandidate = { iso3: string; name: string } | { group: string; name: string };

export type NamedPlace =
  | { kind: 'country'; iso3: string }
  | { kind: 'group'; group: CountryGroup }
  | {
      kind: 'none';
      reason: 'ambiguous_place' | 'not_a_country' | 'unknown_place';
      message: string;
      candidates: readonly PlaceCandidate[];
    };

let names: ReturnType<typeof readNames> | undefined;

/** Read when first wanted: it takes 30 ms, which a start need not wait for. */
function readNames() {
  const problems = new Problems();
  const spine = loadCountries(fileOf('countries.csv'), problems);
  const table = loadPlaces(fileOf('places.csv'), spine, problems);
  const groups = [...GROUPS.values()];
  const ambiguous = loadAmbiguousNames(fileOf('ambiguous-names.csv'), spine, groups, problems);
  problems.throwIfAny();
  const { countries } = spine;
  const covered = countries.filter(({ enabled }) => enabled);
  const calledGroups = groups.map((group) => ({
    place: GROUP_MARK + group.id,
    names: usualNames(group).map(foldName),
  }));
  return {
    table,
    /** Codes and groups that a name may mean, by folded name. */
    ambiguous,
    byM49: new Map(countries.map(({ m49, iso3 }) => [String(m49).padStart(3, '0'), iso3])),
    /** Names of countries by code, without those that no provider covers. */
    countries: new Map(covered.map(({ iso3, name }) => [iso3, name])),
    /** Names that are suggested, folded, with what they mean. */
    suggested: [
      ...covered.map(({ iso3, name }) => ({ place: iso3, name: foldName(name) })),
      ...calledGroups.flatMap(({ place, names }) => names.map((name) => ({ place, name }))),
    ],
    /** Everything that each place is called, folded, its own name first. */
    called: [...calledCountries(table), ...calledGroups],
    /** First words of all names, and all beginnings of groups, whose names are compared without spaces. */
    beginnings: new Set([
      ...[...table.codesIn(NAME_SCHEMES), ...ambiguous.keys(), ...MEMBERS_BEGIN].map(firstWord),
      ...[...BY_NAME.keys(), ...BY_SHORT_NAME.keys()].flatMap((key) =>
        Array.from(key, (_letter, at) => key.slice(0, at + 1)),
      ),
    ]),
  };
}

const firstWord = (folded: string): string => folded.split(' ', 1)[0] ?? '';

/** Whether a name may begin with this word: most words are ruled out so, at half of what `findNamed` takes for one text. */
export function mayBeginName(word: string): boolean {
  names ??= readNames();
  const folded = foldName(word);
  const { beginnings } = names;
  return folded === '' || beginnings.has(firstWord(folded)) || beginnings.has(groupKey(folded));
}

/** `spoken` holds names that people say and no provider writes. */
const NAME_SCHEMES = ['names', 'spoken'];

/** By name. */
const calledCountries = (table: PlaceTable) =>
  [...Map.groupBy(table.countriesIn(NAME_SCHEMES), ({ iso3 }) => iso3)]
    .map(([place, own]) => ({ place, names: own.map(({ code }) => code) }))
    .sort((a, b) => ((a.names[0] ?? '') < (b.names[0] ?? '') ? -1 : 1));

/** What a text is found to mean; what is ambiguous by codes, and by `@` and id of groups. */
type FoundPlace =
  | { kind: 'country'; iso3: string }
  | { kind: 'group'; group: CountryGroup }
  | { kind: 'ambiguous'; meant: readonly string[] }
  | { kind: PlaceKind | 'unknown' };

/** In the order in which they count. */
const SCHEMES = ['iso3', 'iso2', ...NAME_SCHEMES];

/**
 * What a text is a name of, without codes of countries: `car` and `PER` are none.
 * @param text in any case; only a group where it begins with `@`.
 */
export function findNamed(text: string, schemes: readonly string[] = NAME_SCHEMES): FoundPlace {
  names ??= readNames();
  const folded = foldName(text);
  const isGroup = text.trimStart().startsWith(GROUP_MARK);
  const meant = isGroup ? undefined : names.ambiguous.get(folded);
  if (meant !== undefined) return { kind: 'ambiguous', meant };
  const place: Place = isGroup ? { kind: 'unknown' } : names.table.resolve(schemes, text, folded);
  if (place.kind === 'country') return place;
  const [group, ...others] = groupsNamed(folded);
  if (group === undefined) return place;
  if (others.length === 0) return { kind: 'group', group };
  return { kind: 'ambiguous', meant: [group, ...others].map(({ id }) => GROUP_MARK + id) };
}

/** @param text in any case. */
export function placeNamed(text: string): NamedPlace {
  names ??= readNames();
  const iso3 = names.byM49.get(text.trim());
  if (iso3 !== undefined) return { kind: 'country', iso3 };
  const found = findNamed(text, SCHEMES);
  if (found.kind === 'country' || found.kind === 'group') return found;
  if (found.kind === 'ambiguous') return ambiguousPlace(text, found.meant);
  return found.kind === 'unknown' ? unknownPlace(text) : noCountry(text, found.kind);
}

/** Names of groups are compared without spaces (G-7, euro zone), articles, and what stands in brackets. */
const groupKey = (folded: string): string => folded.replaceAll(/\bthe\b|\s+/g, '');
const usualNames = ({ name, names: others }: CountryGroup): string[] => [
  name.replace(/\s*\(.*/, ''),
  ...others,
];

const MEMBERS = '(?:member )?(?:countries|country|nations|states|economies|members)';
const MEMBERS_BEGIN = [
  'the',
  'all',
  'member',
  'members',
  'countries',
  'country',
  'nations',
  'states',
  'economies',
];
const MEMBERS_AROUND = new RegExp(`^(?:all )?(?:the )?${MEMBERS} (?:of|in) | ${MEMBERS}$`);
const withoutMembers = (folded: string): string => folded.replace(MEMBERS_AROUND, '');

/** Groups by a key of their id and names. */
function keyed(keyOf: (folded: string) => string): ReadonlyMap<string, readonly CountryGroup[]> {
  const groups = new Map<string, CountryGroup[]>();
  for (const group of GROUPS.values())
    for (const key of new Set([group.id, ...usualNames(group)].map((name) => keyOf(foldName(name)))))
      groups.set(key, [...(groups.get(key) ?? []), group]);
  return groups;
}
const BY_NAME = keyed(groupKey);
const BY_SHORT_NAME = keyed((folded) => groupKey(withoutMembers(folded)));

/** Those that the text names, by id, by name or as its members: “the EU countries”, “members of NATO”. */
function groupsNamed(folded: string): readonly CountryGroup[] {
  const named = BY_NAME.get(groupKey(folded));
  if (named !== undefined) return named;
  const short = withoutMembers(folded);
  return short === folded ? [] : (BY_SHORT_NAME.get(groupKey(short)) ?? []);
}

/** @param place an ISO3 code, or a group by `@` and id. */
function candidateOf(place: string): PlaceCandidate[] {
  const group = place.startsWith(GROUP_MARK) ? GROUPS.get(place.slice(GROUP_MARK.length)) : undefined;
  if (group !== undefined) return [{ group: place, name: group.name }];
  const name = names?.countries.get(place);
  return name === undefined ? [] : [{ iso3: place, name }];
}

/** How much of a place's name is repeated to whoever asked. */
export const PLACE_ECHO_MAX = 40;

const quoted = (text: string): string => `“${text.trim().slice(0, PLACE_ECHO_MAX)}”`;

function ambiguousPlace(text: string, meant: readonly string[]): NamedPlace {
  const message = `${quoted(text)} may mean more than one place (${meant.join(' or ')}): ask which one is meant.`;
  return { kind: 'none', reason: 'ambiguous_place', message, candidates: meant.flatMap(candidateOf) };
}

function noCountry(text: string, kind: PlaceKind): NamedPlace {
  const folded = foldName(text);
  const close = [...GROUPS.values()].filter(({ name }) => foldName(name).startsWith(folded));
  const hint =
    close.length === 0
      ? ''
      : ` Its countries can be asked for as ${close.map(({ id, name }) => `${GROUP_MARK}${id} (${name})`).join(' or ')}.`;
  const message =
    kind === 'historical'
      ? `${quoted(text)} is a former state. Almanac holds figures of present countries only, and gives none for it.`
      : `${quoted(text)} is not a country: Almanac holds no figure for it as a whole.${hint}`;
  const candidates = close.flatMap(({ id }) => candidateOf(GROUP_MARK + id));
  return { kind: 'none', reason: 'not_a_country', message, candidates };
}

const SUGGESTED_MAX = 3;

function unknownPlace(text: string): NamedPlace {
  const folded = foldName(text);
  const steps_max = Math.max(1, folded.length / 4);
  const near = (names?.suggested ?? [])
    .filter(({ name }) => Math.abs(name.length - folded.length) <= steps_max)
    .map(({ place, name }) => ({ place, steps: distance(folded, name) }))
    .filter(({ steps }) => steps <= steps_max)
    .toSorted((a, b) => a.steps - b.steps)
    .map(({ place }) => place);
  const candidates = [...new Set(near)].slice(0, SUGGESTED_MAX).flatMap(candidateOf);
  const hint = candidates.length === 0 ? '' : ' Ask whether one of the candidates is meant.';
  const more = text.trimStart().startsWith(GROUP_MARK) ? ' /v1/groups lists the groups.' : '';
  const message = `Almanac knows no country or group ${quoted(text)}.${hint}${more}`;
  return { kind: 'none', reason: 'unknown_place', message, candidates };
}

/** How a name may begin with what is typed, best first. A later word counts in a place's own name only. */
const FITS: readonly ((typed: string, names: readonly string[]) => boolean)[] = [
  (typed, all) => all.includes(typed),
  (typed, [name = '']) => name.startsWith(typed),
  (typed, [name = '']) => name.includes(` ${typed}`),
  (typed, all) => all.some((name) => name.startsWith(typed)),
];

/** Countries and groups with a usual name that begins with a text, best first. */
export function placesBeginning(text: string): PlaceCandidate[] {
  names ??= readNames();
  const typed = foldName(text);
  if (typed === '') return [];
  const found = names.called.map(({ place, names: all }) => ({
    place,
    fit: FITS.findIndex((fits) => fits(typed, all)),
  }));
  return found
    .filter(({ fit }) => fit >= 0)
    .sort((a, b) => a.fit - b.fit)
    .flatMap(({ place }) => candidateOf(place));
}
