/**
 * Names of places as people write them: each means what it says, or is asked back. The tables were written from general
 * knowledge, before the curated names that they showed to be missing; `meant` is an ISO3 code, a group, several of which one
 * must be asked for, or nothing.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { loadCurated } from '../../../../data/curated/curated.ts';
import { GROUPS, placeNamed } from '../../../../gateway/api/operations/operations.ts';
import { placesInWords } from '../../../../gateway/api/operations/parameters/places-in-words.ts';

const table = <Row>(file: string | URL): Row[] =>
  parse(readFileSync(file, 'utf8'), { columns: true }) as Row[];

const USAGES = ['statistical', 'press', 'native', 'abbreviated', 'article'] as const;
/** Names of one place, separated by `; `. */
const places = table<Record<'meant' | (typeof USAGES)[number], string>>(
  new URL('places-in-five-usages.csv', import.meta.url),
);
const others = table<Record<'usage' | 'name' | 'meant', string>>(
  new URL('usual-place-names.csv', import.meta.url),
);
const rows = [
  ...places.flatMap(({ meant, ...names }) =>
    USAGES.flatMap((usage) => names[usage].split('; ')).map((name) => ({ name, meant })),
  ),
  ...others,
].filter(({ name }) => name !== '');

/** What a name means, as the tables write it; nothing where it is refused. */
function meaning(name: string): string {
  const named = placeNamed(name);
  if (named.kind === 'country') return named.iso3;
  if (named.kind === 'group') return `@${named.group.id}`;
  if (named.reason !== 'ambiguous_place') return '';
  return named.candidates.map((one) => ('group' in one ? one.group : one.iso3)).join(' ');
}

describe('usual names', () => {
  it('mean what people mean, in every usage', () => {
    const wrong = rows.filter(({ name, meant }) => meaning(name) !== meant);
    expect(wrong.map(({ name, meant }) => `${name}: ${meaning(name)}, not ${meant}`)).toEqual([]);
  });

  it('are those of more than 60 places in all five usages, and more than 100 traps', () => {
    const complete = places.filter((names) => USAGES.every((usage) => names[usage] !== ''));
    expect(new Set(complete.map(({ meant }) => meant)).size).toBeGreaterThan(60);
    expect(others.filter(({ usage }) => usage === 'trap').length).toBeGreaterThan(100);
  });
});

/** Words of three letters and less may be codes. */
const CODE_LENGTH_MAX = 3;
const { countries } = await loadCurated('data');
const edition = { countriesByCode: new Map(countries.map((country) => [country.iso3, country])) };
const concepts = table<{ name: string }>('data/concepts.csv');

describe('a name resolves to no place that it does not mean', () => {
  it('not when a letter is missing', () => {
    for (const { iso3, name } of countries)
      for (const at of Array.from(name).keys()) {
        const misspelt = name.slice(0, at) + name.slice(at + 1);
        if (misspelt.length > CODE_LENGTH_MAX)
          expect([iso3, ''], `${misspelt} of ${name}`).toContain(meaning(misspelt));
      }
  });

  it('not when it is a word about a subject', () => {
    const words = new Set(concepts.flatMap(({ name }) => name.split(/[^\p{L}]+/u)));
    const subjects = [...words].filter(({ length }) => length > CODE_LENGTH_MAX);
    expect(subjects.length).toBeGreaterThan(100);
    expect(subjects.filter((word) => meaning(word) !== '')).toEqual([]);
  });

  it('not when a group shares its name', () => {
    const asked = new Set<string>();
    for (const { id, name, names } of GROUPS.values())
      for (const said of [id, `@${id}`, name.replace(/ \(.*/, ''), ...names]) {
        const meant = meaning(said);
        if (meant.includes(' ')) asked.add(said);
        if (said === 'Micronesia') expect(meant).toBe('FSM');
        else expect(meant.split(' '), said).toContain(`@${id}`);
      }
    expect([...asked]).toEqual([
      ...['Latin America & Caribbean', 'North America', 'Sub-Saharan Africa'],
      'Latin America and the Caribbean',
    ]);
  });
});

describe('names among other words', () => {
  const named = (words: string): string => {
    const { countries: found, groups } = placesInWords(words, edition);
    return [...found.map(({ iso3 }) => iso3), ...groups.map(({ id }) => `@${id}`)].join(' ');
  };
  const WORDS_MAX = 7;

  it('mean the same, all that they may mean', () => {
    const names = rows.filter(
      ({ name, meant }) =>
        // Among words, the world is none.
        !['', '@world'].includes(meant) &&
        name.length > CODE_LENGTH_MAX &&
        name.split(' ').length <= WORDS_MAX,
    );
    expect(names.length).toBeGreaterThan(500);
    const wrong = names.filter(({ name, meant }) => named(`population of ${name} in 1990`) !== meant);
    expect(wrong.map(({ name }) => `${name}: ${named(`population of ${name} in 1990`)}`)).toEqual([]);
  });

  it('are taken out of the words', () => {
    const names = ['the United Kingdom', 'Congo', 'NATO members', 'OPEC+', '日本'];
    for (const name of names)
      expect([name, placesInWords(`population of ${name} in 1990 `, edition)]).toMatchObject([
        name,
        { text: 'population of in ', years: [1990] },
      ]);
  });

  it.each([
    ['UK', 'GBR'],
    ['the us', 'USA'],
    ['the EU', '@eu'],
    ['CAR', 'CAF'],
    ['the CAR', 'CAF'],
    ['north Korea', 'PRK'],
    ['Kenya’s, and Kenya', 'KEN'],
    ['low-income countries', '@wb-low-income'],
  ])('%s is %s', (words, meant) => {
    expect(named(`population of ${words}, 1990`)).toBe(meant);
  });

  it.each([
    ...[
      'car',
      'the car',
      'who owns a car.',
      'us',
      'it is us.',
      'PER',
      'per person',
      'can it be',
      'ARE',
      'US$',
      'in current US dollars',
      '(US$)',
    ],
    ...['vitamin c is', 'to go', 'i ran', 'American', 'the world', 'total', 'new'],
    ...['Northern Ireland', 'New Mexico', 'inner Mongolia', 'East Germany', 'Soviet Union', 'Former Sudan'],
  ])('%s is none', (words) => {
    expect(placesInWords(words, edition)).toEqual({ text: words, countries: [], groups: [], years: [] });
  });
});
