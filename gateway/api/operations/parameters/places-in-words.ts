/** Places, groups and years that somebody names among other words (“Kenya life expectancy 1990”), and the words without them. */
import { fileURLToPath } from 'node:url';
import { foldName, loadAmbiguousNames, loadCountries, loadPlaces } from '../../../../data/curated/places.ts';
import { Problems } from '../../../../data/curated/table.ts';
import type { CountryGroup } from '../../../../data/schema/curated.ts';
import type { Edition } from '../../snapshot/snapshot.ts';
import { GROUP_MARK, GROUPS } from './place-names.ts';

/** What a name means: several where it is ambiguous, none where it is no name. */
interface Named {
  countries: readonly string[];
  groups: readonly CountryGroup[];
}

export interface PlacesInWords {
  /** The other words. */
  text: string;
  countries: { iso3: string; name: string }[];
  groups: { id: string; name: string }[];
  years: number[];
}

const SCHEMES = ['names', 'spoken'];
/** The most words of a name. */
const NAME_WORDS = 7;
/** A shorter name counts only in capitals: `car` is a car, and `us` is us. */
const CASELESS_LETTERS = 4;
const YEAR = /^(?:1[5-9]|20|21)\d\d$/;
const AROUND = /^[^\p{L}\p{N}@]+|(?:['’]s)?[^\p{L}\p{N}.)]*$/gu;

type Namer = (name: string) => Named;
let namer: Promise<Namer> | undefined;

/** Read when first wanted: a start does not wait for it. */
async function readNames(): Promise<Namer> {
  const problems = new Problems();
  const file = (name: string): string => fileURLToPath(new URL(`../../../../data/${name}`, import.meta.url));
  const spine = loadCountries(file('countries.csv'), problems);
  const table = loadPlaces(file('places.csv'), spine, problems);
  const ambiguous = loadAmbiguousNames(file('ambiguous-names.csv'), spine, [...GROUPS.values()], problems);
  problems.throwIfAny();
  const groups = Map.groupBy(GROUPS.values(), ({ name }) => foldName(name.replace(/\s*\(.*/, '')));
  for (const group of GROUPS.values())
    groups.set(foldName(group.id), groups.get(foldName(group.id)) ?? [group]);
  return (name) => {
    const folded = foldName(name);
    const place = table.resolve(SCHEMES, name);
    const one = place.kind === 'country' ? [place.iso3] : [];
    const meant = ambiguous.get(folded) ?? one;
    const asked = meant.flatMap((id) => GROUPS.get(id.slice(GROUP_MARK.length)) ?? []);
    return {
      countries: meant.filter((id) => !id.startsWith(GROUP_MARK)),
      groups: groups.get(folded) ?? asked,
    };
  };
}

export async function placesInWords(
  sent: string,
  { countriesByCode }: Pick<Edition, 'countriesByCode'>,
): Promise<PlacesInWords> {
  namer ??= readNames();
  const named = await namer;
  const words = sent.split(/\s+/u).filter((word) => word !== '');
  const found: PlacesInWords = { text: '', countries: [], groups: [], years: [] };
  const others: string[] = [];
  for (let at = 0; at < words.length; ) {
    const { length, countries, groups } = longestName(words.slice(at, at + NAME_WORDS), named);
    const word = words[at] ?? '';
    const year = word.replaceAll(AROUND, '');
    if (length > 0) {
      const records = countries.flatMap((iso3) => countriesByCode.get(iso3) ?? []);
      found.countries.push(...records.map(({ iso3, name }) => ({ iso3, name })));
      found.groups.push(...groups.map(({ id, name }) => ({ id, name })));
    } else if (YEAR.test(year)) found.years.push(Number(year));
    else others.push(word);
    at += Math.max(1, length);
  }
  // A space at the end says that the last word is finished.
  found.text = others.join(' ') + (/\s$/u.test(sent) ? ' ' : '');
  return found;
}

function longestName(words: readonly string[], named: Namer): Named & { length: number } {
  for (let length = words.length; length > 0; length -= 1) {
    const name = words.slice(0, length).join(' ').replaceAll(AROUND, '');
    const isShort = name.length < CASELESS_LETTERS;
    if (name === '' || (isShort && name !== name.toUpperCase())) continue;
    const meant = named(name);
    if (meant.countries.length + meant.groups.length > 0) return { length, ...meant };
  }
  return { length: 0, countries: [], groups: [] };
}
