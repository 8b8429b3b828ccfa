/** Places, groups and years that somebody names among other words (“Kenya life expectancy 1990”), and the words without them. */
import type { Edition } from '../../snapshot/snapshot.ts';
import { findNamed, GROUP_MARK, GROUPS, mayBeginName } from './place-names.ts';

/** The most words of a name. */
const NAME_WORDS = 7;
/** Counts only in capitals, spaced or not: `car` is a car, `us` is us, and “vitamin C is” names no CIS. But `the us` is a country. */
const SHORT_NAME = /^(?:[\p{L}\p{N}&]{1,3}|[Tt]he[Cc]ar)[.)+]*$/u;
/** Before a name: only a part of the place, or another one. `South Sudan` is a name itself. */
const PART = /^(?:(?:north|south|east|west)(?:ern)?|central|new|inner|outer|upper|lower|former)$/i;
/** Among words it tells nothing, or is part of a name: World Bank, departures of the world. */
const WORLD = 'world';
const YEAR = /^(?:1[5-9]|20|21)\d\d$/;
const AROUND = /^[^\p{L}\p{N}@]+|(?:['’]s)?[^\p{L}\p{N}.)+$]*$/gu;
/** After a name or a year: US dollars, 2021 prices. */
const OF_MONEY = /^(?:dollars?|us\$?|ppp|international|prices)\b/i;

/** @param edition countries that it does not hold are left out. */
export function placesInWords(sent: string, edition: Pick<Edition, 'countriesByCode'>) {
  const words = sent.split(/\s+/u).filter((word) => word !== '');
  const named = new Set<string>();
  const years: number[] = [];
  const others: string[] = [];
  let isPart = false;
  for (let at = 0; at < words.length; ) {
    const { length, places } = longestName(words.slice(at, at + NAME_WORDS));
    const next = at + Math.max(1, length);
    const word = (words[at] ?? '').replaceAll(AROUND, '');
    const isOfMoney = OF_MONEY.test(words[next] ?? '');
    if (places.length > 0 && !isPart && !isOfMoney) for (const place of places) named.add(place);
    else if (YEAR.test(word) && !isOfMoney) years.push(Number(word));
    else others.push(...words.slice(at, next));
    isPart = length === 0 && PART.test(word);
    at = next;
  }
  // A space at the end says that the last word is finished.
  const text = others.join(' ') + (/\s$/u.test(sent) ? ' ' : '');
  const groups = [...named].flatMap((place) => GROUPS.get(place.slice(GROUP_MARK.length)) ?? []);
  const countries = [...named].flatMap((place) => edition.countriesByCode.get(place) ?? []);
  return {
    /** The other words. */
    text,
    countries: countries.map(({ iso3, name }) => ({ iso3, name })),
    groups: groups.map(({ id, name }) => ({ id, name })),
    years,
  };
}

const NO_NAME = { length: 0, places: [] };

/** How many words the name has, or 0, and all that it may mean: ISO3 codes, and groups by `@` and id. None of a former state. */
function longestName(words: readonly string[]): { length: number; places: readonly string[] } {
  const [first = ''] = words;
  // People's Republic, and Kenya's.
  if (!mayBeginName(first) && !mayBeginName(first.replaceAll(AROUND, ''))) return NO_NAME;
  for (let length = words.length; length > 0; length -= 1) {
    const name = words.slice(0, length).join(' ').replaceAll(AROUND, '');
    const isWord = name !== name.toUpperCase() && SHORT_NAME.test(name.replaceAll(' ', ''));
    if (name === '' || isWord || name.includes('$')) continue;
    const found = findNamed(name);
    if (found.kind === 'country') return { length, places: [found.iso3] };
    if (found.kind === 'group')
      return { length, places: found.group.id === WORLD ? [] : [GROUP_MARK + found.group.id] };
    if (found.kind === 'ambiguous') return { length, places: found.meant };
    if (found.kind !== 'unknown') return { length, places: [] };
  }
  return NO_NAME;
}
