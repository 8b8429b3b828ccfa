/**
 * Countries, their groups, and the codes and names by which providers and people call them: `countries.csv`, `groups.csv`,
 * `places.csv` and `ambiguous-names.csv`.
 *
 * Three schemes come from `countries.csv`: `iso3`, `iso2` and `names` (common and official names). Every other code is a
 * row of `places.csv`. A code on no list is `unknown`, never guessed. Aggregates and former states are listed as such, so
 * that their figures are never attributed to a present country.
 */

import { existsSync } from 'node:fs';
import { z } from 'zod';
import {
  type CountryGroup,
  countryGroup,
  type PlaceKind,
  placeKind,
  type SpineCountry,
  spineCountry,
} from '../schema/curated.ts';
import { type CountryRecord, iso3 } from '../schema/records.ts';
import {
  asBoolean,
  asNumber,
  check,
  checkedRows,
  columnsOf,
  type Position,
  type Problems,
  readTable,
} from './table.ts';

export type Place = { kind: 'country'; iso3: string } | { kind: PlaceKind } | { kind: 'unknown' };

export type PlaceTable = ReturnType<typeof loadPlaces>;

const UNKNOWN: Place = { kind: 'unknown' };

const aliasRow = z
  .object({
    scheme: z.string('a scheme is needed').regex(/^[a-z0-9][a-z0-9-]*$/, 'a word of a-z, 0-9 and -'),
    code: z.string('a code is needed'),
    iso3: iso3.nullable(),
    kind: placeKind.nullable(),
  })
  .refine(
    (row) => (row.iso3 === null) !== (row.kind === null),
    'either iso3 or kind must be given, not both',
  );

/** Reads `places.csv` and adds it to the schemes of the countries. */
export function loadPlaces(file: string, spine: Spine, problems: Problems) {
  const schemes = spineSchemes(spine.countries);
  for (const { row, ...at } of checkedRows(aliasRow, file, problems, undefined, ['note'])) {
    const { scheme, code, iso3, kind } = row;
    const codes = schemes.get(scheme) ?? new Map<string, Place>();
    schemes.set(scheme, codes);
    if (iso3 !== null && !spine.named.has(iso3))
      problems.add(at, `${scheme} ${code}: ${iso3} is not on the spine`);
    else if (codes.has(keyOf(scheme, code)))
      problems.add(at, `${scheme} ${code} is listed before, or is the spine's own`);
    else if (iso3 !== null) codes.set(keyOf(scheme, code), { kind: 'country', iso3 });
    else if (kind !== null) codes.set(keyOf(scheme, code), { kind });
  }
  return {
    /** Names of all schemes. */
    schemes: new Set(schemes.keys()) as ReadonlySet<string>,
    /**
     * Looks a code up in the schemes, in order; the first match decides. Codes are compared without case and surrounding
     * space, names (schemes `names` and `spoken`) as `foldName` folds them.
     * @param folded the code as `foldName` folds it, where that is known
     */
    resolve(wanted: readonly string[], code: string, folded = foldName(code)): Place {
      for (const scheme of wanted) {
        const place = schemes.get(scheme)?.get(keyOf(scheme, code, folded));
        if (place !== undefined) return place;
      }
      return UNKNOWN;
    },
    /** Everything that the schemes list, as it is compared. */
    codesIn: (wanted: readonly string[]): string[] =>
      wanted.flatMap((scheme) => [...(schemes.get(scheme)?.keys() ?? [])]),
    /** What the schemes list, as it is compared, with the country that it stands for; a country's own names first. */
    countriesIn: (wanted: readonly string[]) =>
      wanted.flatMap((scheme) =>
        [...(schemes.get(scheme) ?? [])].flatMap(([code, place]) =>
          place.kind === 'country' ? [{ code, iso3: place.iso3 }] : [],
        ),
      ),
  };
}

const keyOf = (scheme: string, code: string, folded = foldName(code)): string =>
  scheme === 'names' || scheme === 'spoken' ? folded : upperCase(code.trim());

/** Some letters outside ASCII have an upper case inside it. */
const upperCase = (code: string): string => code.replace(/[a-z]+/g, (letters) => letters.toUpperCase());

/** The schemes that `countries.csv` makes; `places.csv` may add to them. */
function spineSchemes(countries: readonly SpineCountry[]): Map<string, Map<string, Place>> {
  const [iso3, iso2, names] = [new Map<string, Place>(), new Map<string, Place>(), new Map<string, Place>()];
  for (const country of countries) {
    const place: Place = { kind: 'country', iso3: country.iso3 };
    iso3.set(country.iso3, place);
    if (country.iso2 !== null) iso2.set(country.iso2, place);
    names.set(foldName(country.name), place);
    if (country.official_name !== null) names.set(foldName(country.official_name), place);
  }
  return new Map(Object.entries({ iso3, iso2, names }));
}

/**
 * Folds case, accents, punctuation, "&", "St." and a leading "the": spelling that never tells two places apart. "+" does: OPEC+.
 * `Côte d'Ivoire` → `cote divoire`, `Micronesia (Fed. Sts.)` → `micronesia fed sts`, `St. Lucia` → `saint lucia`.
 */
export function foldName(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/['’‘`ʻʼ]/g, '')
    .replaceAll('&', ' and ')
    .replaceAll('+', ' plus ')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .replace(/\bst\b/g, 'saint')
    .replace(/^the /, '');
}

const UNIQUE = ['iso3', 'iso2', 'm49', 'name', 'official_name', 'wb_code', 'wikidata_id'] as const;

export type Spine = ReturnType<typeof loadCountries>;

/** Reads `countries.csv`. Codes are unique, and derived fields (the flag from iso2) must be consistent. */
export function loadCountries(file: string, problems: Problems) {
  const seen = new Map(UNIQUE.map((field) => [field, new Map<unknown, number>()]));
  const countries: SpineCountry[] = [];
  /** The iso3 of every row, invalid rows included, so that one bad row is not reported again by its references. */
  const named = new Set<string>();
  for (const { cells, ...at } of readTable(file, columnsOf(spineCountry), [], problems)) {
    if (cells.iso3 !== null) named.add(cells.iso3);
    const row = { ...cells, m49: asNumber(cells.m49), enabled: asBoolean(cells.enabled) };
    const country = check(spineCountry, row, at, problems);
    if (country === undefined) continue;
    checkRow(country, at, problems);
    for (const field of UNIQUE) {
      const value = country[field];
      const line = seen.get(field)?.get(value);
      if (value === null) continue;
      if (line !== undefined) problems.add(at, `${field} ${value} is also on line ${line}`);
      else seen.get(field)?.set(value, at.line);
    }
    countries.push(country);
  }
  return { countries, named };
}

function checkRow(country: SpineCountry, at: Position, problems: Problems): void {
  const flag = country.iso2 === null ? null : flagEmoji(country.iso2);
  if (country.flag_emoji !== flag) problems.add(at, `flag_emoji: ${flag} is the flag of ${country.iso2}`);
  if (country.wb_code === country.iso3) problems.add(at, 'wb_code: given only where it differs from iso3');
}

/** The regional-indicator pair of a two-letter code: `SE` → 🇸🇪. */
function flagEmoji(iso2: string): string {
  const first = 0x1f1e6 - 'A'.charCodeAt(0);
  return String.fromCodePoint(...Array.from(iso2, (letter) => first + letter.charCodeAt(0)));
}

/**
 * Reads `ambiguous-names.csv`: names that people use for more than one place, which are asked back.
 * @returns codes of the countries, and groups by `@` and id, by folded name
 */
export function loadAmbiguousNames(
  file: string,
  { named }: Spine,
  groups: readonly CountryGroup[],
  problems: Problems,
): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, readonly string[]>();
  const places = new Set([...named, ...groups.map(({ id }) => `@${id}`)]);
  for (const { cells, ...at } of readTable(file, ['name', 'candidates'], ['note'], problems)) {
    const name = foldName(cells.name ?? '');
    const candidates = cells.candidates?.split(/\s+/) ?? [];
    const unknown = candidates.find((place) => !places.has(place));
    if (name === '') problems.add(at, 'a name is needed');
    else if (names.has(name)) problems.add(at, `${cells.name} is listed twice`);
    else if (candidates.length < 2) problems.add(at, `${cells.name}: at least two places are needed`);
    else if (unknown !== undefined) problems.add(at, `${cells.name}: ${unknown} is no country or group`);
    else names.set(name, candidates);
  }
  return names;
}

const RULE = /^(region|subregion|income_group): (.+)$/;

/**
 * Reads `groups.csv`, in file order; none without the file. Members are listed, or follow from a column of the list of
 * countries by a rule, `<column>: <value>; <value>`.
 * @param spine what members and rules must refer to; null leaves that to the build, which reads it first.
 */
export function loadGroups(file: string, spine: Spine | null, problems: Problems): CountryGroup[] {
  if (!existsSync(file)) return [];
  const groups: CountryGroup[] = [];
  const rows = checkedRows(countryGroup, file, problems, ({ names, members, rule, ...cells }) => {
    const [, column, values = ''] = RULE.exec(rule ?? '') ?? [];
    const parsedRule = column === undefined ? rule : { column, values: values.split('; ') };
    const lists = { names: names?.split('; ') ?? [], members: members?.split(' ') ?? null };
    return { ...cells, ...lists, rule: parsedRule };
  });
  for (const { row: group, ...at } of rows) {
    if (groups.some(({ id }) => id === group.id)) problems.add(at, `${group.id} occurs twice`);
    if ((group.members === null) === (group.rule === null)) problems.add(at, 'give either members or a rule');
    if (spine !== null) checkAgainst(spine, group, at, problems);
    groups.push(group);
  }
  return groups;
}

function checkAgainst(
  { countries, named }: Spine,
  { members, rule }: CountryGroup,
  at: Position,
  problems: Problems,
): void {
  for (const [index, iso3] of (members ?? []).entries()) {
    if (!named.has(iso3)) problems.add(at, `${iso3}: there is no such country`);
    if (members?.indexOf(iso3) !== index) problems.add(at, `${iso3} is named twice`);
  }
  for (const value of rule?.values ?? [])
    if (!countries.some((country) => country[rule?.column ?? 'region'] === value))
      problems.add(at, `${value}: no country has this ${rule?.column}`);
}

/** The codes of those of some countries that belong to a group, sorted. */
export const membersOf = ({ members, rule }: CountryGroup, countries: Iterable<CountryRecord>): string[] =>
  [...countries]
    .filter((country) => members?.includes(country.iso3) || rule?.values.includes(country[rule.column] ?? ''))
    .map(({ iso3 }) => iso3)
    .sort();
