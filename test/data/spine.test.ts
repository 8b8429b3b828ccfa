/** The country spine of this project, rule by rule. */
import { describe, expect, it } from 'vitest';
import { loadCurated } from '../../data/curated/curated.ts';
import { TOPIC_SLUGS } from '../../data/schema/curated.ts';
import { countryRecord } from '../../data/schema/records.ts';

const { countries, topics, packs, providers } = await loadCurated('data');

/** Without any figure at any provider. */
const NOT_SERVED = ['ATA', 'ATF', 'BVT', 'HMD', 'IOT', 'SGS', 'UMI'];

describe('countries.csv', () => {
  it('holds the 249 entries of ISO 3166-1 and Kosovo, sorted by code', () => {
    const codes = countries.map(({ iso3 }) => iso3);
    expect(codes).toHaveLength(250);
    expect(codes).toEqual(codes.toSorted());
    expect(countries.filter(({ iso3 }) => iso3 === 'XKX')).toMatchObject([
      { iso2: 'XK', name: 'Kosovo', m49: null },
    ]);
  });

  it('has an ISO2 code, a flag and a Wikidata id for every country, and an M49 number for all but Kosovo', () => {
    for (const country of countries) {
      expect(country.iso2, country.iso3).toMatch(/^[A-Z]{2}$/);
      expect(country.flag_emoji, country.iso3).not.toBeNull();
      expect(country.wikidata_id, country.iso3).toMatch(/^Q\d+$/);
      expect(country.m49 === null, country.iso3).toBe(country.iso3 === 'XKX');
    }
  });

  it("agrees with the runtime's own names of regions on what the two-letter codes are", () => {
    const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
    expect(countries.filter(({ iso2 }) => iso2 !== null && names.of(iso2) === undefined)).toEqual([]);
  });

  it("has the World Bank's regions and income groups, both or neither, but for Venezuela", () => {
    const halves = countries.filter(
      ({ region, income_group }) => (region === null) !== (income_group === null),
    );
    expect(halves).toMatchObject([{ iso3: 'VEN', region: 'Latin America & Caribbean' }]);
    expect(countries.filter(({ region }) => region !== null)).toHaveLength(216);
  });

  it('has the UN subregions, for all but Antarctica', () => {
    expect(countries.filter(({ subregion }) => subregion === null)).toMatchObject([{ iso3: 'ATA' }]);
  });

  it('has no leading article, straight apostrophe, footnote mark or stray space', () => {
    for (const { iso3, name, official_name, capital } of countries) {
      for (const text of [name, official_name, capital]) {
        if (text === null) continue;
        expect(text, iso3).not.toMatch(/^the |'|\*|^\s|\s$|\s{2}|\s,/);
      }
    }
  });

  it('enables all countries but the seven without statistics', () => {
    expect(countries.filter(({ enabled }) => !enabled).map(({ iso3 }) => iso3)).toEqual(NOT_SERVED);
  });

  it('matches the schema of the public record', () => {
    for (const country of countries) expect(() => countryRecord.parse(country)).not.toThrow();
  });
});

it('topics are 13, each with a name and one sentence', () => {
  expect(topics.map(({ slug }) => slug)).toEqual([...TOPIC_SLUGS]);
  for (const { name, description } of topics) {
    expect(name).toMatch(/^[A-Z]/);
    expect(description).toMatch(/^[A-Z][^.]*\.$/);
  }
});

it('credit packs are three in one currency, with a lower price a credit for larger packs', () => {
  expect(packs).toHaveLength(3);
  expect(new Set(packs.map(({ currency }) => currency)).size).toBe(1);
  const each = packs.map(({ credits, price_minor }) => price_minor / credits);
  expect(each).toEqual(each.toSorted((a, b) => b - a));
});

it('provider definitions name a licence, a credit line and the sources', () => {
  for (const { id, licence, attribution, upstream } of providers.values()) {
    expect(licence, id).not.toBe('');
    expect(attribution, id).not.toBe('');
    expect(upstream.length, id).toBeGreaterThan(0);
  }
});
