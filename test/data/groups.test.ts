/** The groups of countries: their numbers of members, and their members in the list of countries. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadCurated } from '../../data/curated/curated.ts';
import { loadCountries, loadGroups, membersOf } from '../../data/curated/places.ts';
import { Problems } from '../../data/curated/table.ts';
import { containmentsOf } from '../../data/derived/aggregate.ts';
import { useDirectory } from '../after-tests.ts';
import { SMALL, withFiles } from './small-curated.ts';

/** As the organisations state them; of the G20 and SIDS, those that are countries and members of the United Nations. */
const MEMBERS: Record<string, number> = {
  eu: 27,
  'euro-area': 21,
  oecd: 38,
  g7: 7,
  g20: 19,
  brics: 10,
  asean: 11,
  'african-union': 55,
  'arab-league': 22,
  commonwealth: 56,
  ldc: 44,
  sids: 37,
  lldc: 32,
  opec: 11,
  'eu-candidates': 9,
  eea: 30,
  efta: 4,
  schengen: 29,
  nato: 32,
  nordic: 5,
  baltic: 3,
  visegrad: 4,
  balkans: 10,
  'western-balkans': 6,
  cis: 9,
  eaeu: 5,
  sco: 10,
  'opec-plus': 21,
  gcc: 6,
  oic: 57,
  ecowas: 12,
  waemu: 8,
  cemac: 6,
  eac: 8,
  sadc: 16,
  comesa: 21,
  maghreb: 5,
  saarc: 8,
  apec: 21,
  cptpp: 12,
  'pacific-islands-forum': 18,
  'latin-america': 20,
  'central-america': 7,
  caricom: 15,
  'un-eastern-africa': 20,
  'un-middle-africa': 9,
  'un-southern-africa': 5,
  'un-western-africa': 17,
  'un-caribbean': 28,
  'un-south-america': 14,
  scandinavia: 3,
  benelux: 3,
  'brics-5': 5,
  mercosur: 5,
  'pacific-alliance': 4,
  'andean-community': 4,
  cplp: 9,
  usmca: 3,
  'five-eyes': 5,
};

const directory = await useDirectory();

async function load(file = 'data/groups.csv') {
  const problems = new Problems();
  const spine = loadCountries('data/countries.csv', problems);
  const groups = loadGroups(file, spine, problems);
  return { countries: spine.countries, groups, problems };
}

test('every group has its number of members, all of them served countries', async () => {
  const { countries, groups, problems } = await load();
  problems.throwIfAny();
  const served = countries.filter(({ enabled }) => enabled);
  const counts = Object.fromEntries(groups.map((group) => [group.id, membersOf(group, served).length]));
  expect(counts).toMatchObject(MEMBERS);
  expect(Object.values(counts).every((members) => members > 0)).toBe(true);
});

test('every group of listed members has a number here, and lists them by code, each once', async () => {
  const { groups } = await load();
  const listed = groups.filter(({ members }) => members !== null);
  expect(listed.map(({ id }) => id).filter((id) => !(id in MEMBERS))).toEqual([]);
  for (const { id, members } of listed) expect([id, members]).toEqual([id, [...new Set(members)].toSorted()]);
});

test('regions and income groups divide the countries that have one', async () => {
  const { countries, groups } = await load();
  const sumOf = (column: string, few: boolean) =>
    groups
      .filter(
        ({ id, rule }) => id !== 'world' && rule?.column === column && (rule.values.length === 1) === few,
      )
      .reduce((sum, group) => sum + membersOf(group, countries).length, 0);
  const having = (column: 'region' | 'subregion' | 'income_group') =>
    countries.filter((country) => country[column] !== null).length;
  expect(sumOf('region', true)).toBe(having('region'));
  expect(sumOf('income_group', true)).toBe(having('income_group'));
  expect(sumOf('subregion', true)).toBe(having('subregion'));
  const world = groups.find(({ id }) => id === 'world');
  expect(world && membersOf(world, countries).length).toBe(having('subregion'));
  // The five regions of the United Nations, as unions of its subregions.
  expect(sumOf('subregion', false)).toBe(having('subregion'));
});

test('members that do not exist, rules that match nothing and double ids are problems', async () => {
  const file = join(directory, 'groups.csv');
  const rows = [
    'id,name,names,members,rule,source,as_of',
    'a,A,,PER ZZZ PER,,https://a.example,2020-01-01',
    'a,A,,PER,region: South Asia,https://a.example,2020-01-01',
    'b,B,,,region: Nowhere,https://a.example,2020-01-01',
    'c,C,,,colour: red,https://a.example,yesterday',
  ];
  await writeFile(file, rows.join('\n'));
  const { problems } = await load(file);
  const told = [':2: ZZZ', ':2: PER is named twice', ':3: a occurs twice', ':3: give either', ':4: Nowhere'];
  for (const part of [...told, ':5: rule']) expect(() => problems.throwIfAny()).toThrow(part);
});

test('what a place includes is decided by the series, else by its provider, else for all', async () => {
  const { territories } = await withFiles(SMALL, (dir) => loadCurated(dir));
  const decided = (indicator: string) =>
    containmentsOf(territories, indicator).map(({ from, to, contained }) => [from, to, contained]);
  expect(decided('atlas.output')).toEqual([[2000, Number.POSITIVE_INFINITY, false]]);
  expect(decided('atlas.gdp')).toEqual([[Number.NEGATIVE_INFINITY, 1999, true]]);
  expect(decided('globe.gdp')).toEqual([[Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, null]]);
});

test('every provider has decided all pairs of which it may have figures of both', async () => {
  const { territories, providers } = await loadCurated('data');
  const pairs = (of: string): Set<string> =>
    new Set(territories.filter(({ provider }) => provider === of).map((one) => `${one.parent} ${one.child}`));
  const known = pairs('*');
  for (const { provider, parent, child } of territories)
    expect(known, `${provider}: the pair is undecided for others`).toContain(`${parent} ${child}`);
  for (const id of ['world-bank', 'imf', 'owid', 'gapminder']) {
    expect(providers.has(id)).toBe(true);
    for (const pair of ['CHN HKG', 'SRB XKX', 'SDN SSD', 'USA PRI']) expect(pairs(id), id).toContain(pair);
  }
  expect(containmentsOf(territories, 'world-bank.SP.POP.TOTL')).toContainEqual(
    expect.objectContaining({ parent: 'FRA', child: 'REU', contained: true }),
  );
});
