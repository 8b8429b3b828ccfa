/** What place codes and names stand for: a present country, a group, a former state, or nothing that we know. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { loadCurated } from '../../data/curated/curated.ts';
import { foldName } from '../../data/curated/places.ts';
import { describeWithMirror } from '../mirror.ts';

const { countries, groups, places, providers } = await loadCurated('data');

const said = (schemes: readonly string[], code: string): string => {
  const place = places.resolve(schemes, code);
  return place.kind === 'country' ? place.iso3 : place.kind;
};

describe('place codes', () => {
  it('of countries.csv match in any case and with surrounding space', () => {
    for (const { iso3, iso2 } of countries) {
      expect(said(['iso3'], iso3)).toBe(iso3);
      expect(said(['iso3'], ` ${iso3.toLowerCase()} `)).toBe(iso3);
      expect(said(['iso2'], iso2 ?? '')).toBe(iso3);
    }
  });

  it.each([
    ['gapminder', 'kos', 'XKX'],
    ['imf', 'UVK', 'XKX'],
    ['owid', 'OWID_KOS', 'XKX'],
    ['gapminder', 'hos', 'VAT'],
    ['gapminder', 'nld_curacao', 'CUW'],
    ['iso2', 'EL', 'GRC'],
    ['iso2', 'UK', 'GBR'],
    ['worldbank', 'CHI', 'aggregate'],
    ['worldbank', 'ADO', 'AND'],
    ['iso3', 'ROM', 'ROU'],
    ['iso3', 'ANT', 'historical'],
    ['who', 'SDF', 'historical'],
    ['gapminder', 'scg_ex_kos', 'historical'],
    ['owid', 'OWID_WRL', 'aggregate'],
    ['gapminder', 'akr_a_dhe', 'unknown'],
    ['iso3', 'XYZ', 'unknown'],
    ['iso3', '', 'unknown'],
  ])('%s %s is %s', (scheme, code, expected) => {
    expect(said([scheme], code)).toBe(expected);
  });

  it('are looked up scheme by scheme; an unknown scheme matches nothing', () => {
    expect(said(['iso3', 'gapminder'], 'gbm')).toBe('IMN');
    expect(said(['nowhere', 'iso3'], 'swe')).toBe('SWE');
    expect(said([], 'SWE')).toBe('unknown');
  });
});

describe('place names', () => {
  it('of countries.csv, common and official, match regardless of case, accents and punctuation', () => {
    for (const { iso3, name, official_name } of countries) {
      for (const text of [name, name.toUpperCase(), official_name ?? name, `The ${official_name ?? name}`]) {
        expect(said(['names'], text), text).toBe(iso3);
      }
    }
  });

  it.each([
    ['Swaziland', 'SWZ'],
    ['Cape Verde', 'CPV'],
    ['Micronesia (country)', 'FSM'],
    ['Burma', 'MMR'],
    ['Korea, Rep.', 'KOR'],
    ["Korea, Dem. People's Rep.", 'PRK'],
    ['Viet Nam', 'VNM'],
    ['Russian Federation', 'RUS'],
    ["Cote d'Ivoire", 'CIV'],
    ['Turkey', 'TUR'],
    ['Hong Kong, China', 'HKG'],
    ['Congo, Dem. Rep.', 'COD'],
    ['Congo, Rep.', 'COG'],
    ['Niger', 'NER'],
    ['Nigeria', 'NGA'],
    ['Dominica', 'DMA'],
    ['Dominican Republic', 'DOM'],
    ['Guinea', 'GIN'],
    ['Guinea-Bissau', 'GNB'],
    ['Samoa', 'WSM'],
    ['American Samoa', 'ASM'],
    ['St. Martin (French part)', 'MAF'],
    ['Sint Maarten (Dutch part)', 'SXM'],
    ['USSR', 'historical'],
    ['East Germany', 'historical'],
    ['Yugoslavia', 'historical'],
    ['Czechoslovakia', 'historical'],
    ['Serbia and Montenegro', 'historical'],
    ['Netherlands Antilles', 'historical'],
    ['Sudan (former)', 'historical'],
    ['World', 'aggregate'],
    ['Upper middle income', 'aggregate'],
    ['Sub-Saharan Africa', 'aggregate'],
    ['Micronesia (region)', 'aggregate'],
    ['Channel Islands', 'aggregate'],
    ['Korea', 'unknown'],
    ['Great Britain', 'unknown'],
    ['Northern Cyprus', 'unknown'],
  ])('%s is %s', (name, expected) => {
    expect(said(['names'], name)).toBe(expected);
  });

  it.each([
    ["Côte d'Ivoire", 'cote divoire'],
    ['Trinidad & Tobago', 'trinidad and tobago'],
    ['St. Kitts and Nevis', 'saint kitts and nevis'],
    ['The Gambia', 'gambia'],
    ['  Åland   Islands ', 'aland islands'],
    ['congo_democratic_republic_of_the', 'congo democratic republic of the'],
    ['Thessaly', 'thessaly'],
    ['OPEC+', 'opec plus'],
  ])('%s folds to %s', (name, folded) => {
    expect(foldName(name)).toBe(folded);
  });
});

/** Words of former states and groups: a name with one of them may never be counted for a present country. */
const NEVER_A_COUNTRY =
  /ussr|soviet|yugoslavia$|czechoslov|(east|west) germany|antilles|and montenegro|\(former\)|vietnam pre|(north|south|republic of) vietnam|democratic yemen|yemen arab|(north|south) yemen|income|^world$|european union|dividend|\b(ida|ibrd|who|wb|fao|ember|ei|unicef)\b|(sub)?regions?\)|^(south|north|east|west|central|.*ern|latin) (africa|asia|europe|america)\b|oceania/i;
const REALLY_COUNTRIES = ['Kosovo (UN administered region)', 'Socialist Republic of Vietnam'];

describe('places.csv', () => {
  const rows: Array<Record<'scheme' | 'code' | 'iso3' | 'kind' | 'note', string>> = parse(
    readFileSync('data/places.csv', 'utf8'),
    { columns: true },
  );

  it('maps no historical state and no aggregate to a present country', () => {
    const wrong = rows.filter(
      ({ iso3, code, scheme }) =>
        iso3 !== '' && scheme === 'names' && NEVER_A_COUNTRY.test(code) && !REALLY_COUNTRIES.includes(code),
    );
    expect(wrong.map(({ code }) => code)).toEqual([]);
    // The words do find what is listed as no country.
    const others = rows.filter(
      ({ kind, scheme, code }) => kind !== '' && scheme === 'names' && NEVER_A_COUNTRY.test(code),
    );
    expect(others.length).toBeGreaterThan(150);
  });

  it('has no row that repeats countries.csv', () => {
    const spine = new Set(countries.map(({ iso3 }) => iso3));
    for (const { scheme, code, iso3 } of rows) {
      if (scheme !== 'names')
        expect(spine.has(code.toUpperCase()) && iso3 === code.toUpperCase(), code).toBe(false);
    }
  });
});

describeWithMirror('places of the provider files', (mirror) => {
  const read = (...path: string[]): Array<Record<string, string>> =>
    parse(readFileSync(join(mirror, ...path)), { columns: true, bom: true, trim: true });
  const countryCodes = () => read('iso-spine', 'data', 'country-codes.csv');

  it("of Gapminder bear the ISO code that Gapminder's own table gives them", () => {
    const schemes = providers.get('gapminder')?.places ?? [];
    for (const { country = '', iso3166_1_alpha3: iso3 } of read(
      'gapminder',
      'ddf--entities--geo--country.csv',
    ))
      if (iso3) expect(said(schemes, country), country).toBe(iso3);
  });

  it('of country-codes resolve to the same code by their UN, CLDR and ISO names', () => {
    const table = countryCodes();
    expect(table).toHaveLength(249);
    for (const row of table) {
      for (const column of ['official_name_en', 'UNTERM English Short', 'CLDR display name']) {
        const name = (row[column] ?? '').replace(/ \(the\)|\*/g, '').trim();
        if (name) expect(said(['names'], name), name).toBe(row['ISO3166-1-Alpha-3']);
      }
    }
  });

  it('of groups are members of the UN subregions and landlocked countries of the country codes table', () => {
    const table = countryCodes();
    const membersBy = (column: string) => Map.groupBy(table, (row) => row[column]);
    const codes = (rows: typeof table = []) => rows.map((row) => row['ISO3166-1-Alpha-3']).toSorted();
    const regions = membersBy('Intermediate Region Name');
    const listed = groups.filter(({ id, members }) => id.startsWith('un-') && members !== null);
    expect(listed).toHaveLength(6);
    for (const { name, members } of listed)
      expect([name, members]).toEqual([name, codes(regions.get(name.replace(' (United Nations)', '')))]);
    const landlocked = groups.find(({ id }) => id === 'lldc');
    expect(landlocked?.members).toEqual(codes(membersBy('Land Locked Developing Countries (LLDC)').get('x')));
  });

  it("are the spine's two-letter codes, UN numbers and Wikidata ids as the country codes table has them", () => {
    const table = countryCodes();
    const spine = new Map(countries.map((country) => [country.iso3, country]));
    const differs = table.filter((row) => {
      const country = spine.get(row['ISO3166-1-Alpha-3'] ?? '');
      return (
        country?.iso2 !== row['ISO3166-1-Alpha-2'] ||
        country?.m49 !== Number(row.M49) ||
        country?.wikidata_id !== row.wikidata_id?.split('/').at(-1)
      );
    });
    // Namibia's id is blank there, and the Netherlands' is the Kingdom's.
    expect(differs.map((row) => row['ISO3166-1-Alpha-3'])).toEqual(['NAM', 'NLD']);
  });
});
