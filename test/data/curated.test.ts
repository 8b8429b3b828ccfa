/** What `loadCurated` gives: order, defaults, and the merging of rules, indicators and overlay table. */
import { describe, expect, it } from 'vitest';
import { loadCurated } from '../../data/curated/curated.ts';
import { bareEntry, type CatalogueEntry } from '../../data/schema/lake.ts';
import { SMALL, spoil, withFiles } from './small-curated.ts';

const entry = (slug: string, more: Partial<CatalogueEntry> = {}): CatalogueEntry => ({
  ...bareEntry(slug),
  ...more,
});

const small = (files = SMALL) => withFiles(files, loadCurated);

describe('loadCurated', () => {
  it('reads every column of countries.csv, an empty cell as null and NA as Namibia', async () => {
    const { countries } = await small();
    expect(countries.map(({ iso3 }) => iso3)).toEqual(['CIV', 'NAM', 'XKX']);
    expect(countries[1]).toEqual({
      iso3: 'NAM',
      iso2: 'NA',
      m49: 516,
      name: 'Namibia',
      official_name: 'Republic of Namibia',
      region: 'Sub-Saharan Africa',
      subregion: 'Sub-Saharan Africa',
      income_group: 'Upper middle income',
      wb_code: null,
      capital: 'Windhoek',
      wikidata_id: 'Q1030',
      flag_emoji: '🇳🇦',
      enabled: true,
    });
    expect(countries[2]).toMatchObject({ m49: null, official_name: null, subregion: null });
  });

  it('applies the defaults of a provider definition', async () => {
    const { providers } = await small();
    expect(providers.get('atlas')).toMatchObject({
      enabled: true,
      cadence: null,
      upstream: [],
      gates: { max_row_drop: 0.2, max_country_drop: 0.1 },
    });
  });

  it('reads former ids, also of a provider that is gone', async () => {
    const { aliases } = await small();
    expect(aliases).toEqual([
      { old: 'atlas.old', new: 'atlas.gdp', since: '2026-11-20', until: '2027-11-20' },
      { old: 'globe.older', new: 'atlas.gdp', since: '2026-11-20', until: null },
    ]);
  });

  it('sorts credit packs by price', async () => {
    const { packs } = await small();
    expect(packs.map(({ id }) => id)).toEqual(['small', 'large']);
  });

  it('reads a file with a byte order mark and CR LF line ends', async () => {
    const { links } = await small({
      ...SMALL,
      'links.csv': `\ufeff${SMALL['links.csv']?.replaceAll('\n', '\r\n')}`,
    });
    expect(links).toEqual([{ from: 'atlas.gdp', to: 'atlas.energy_use', relation: 'drives' }]);
  });
});

describe('the overlay of a series', () => {
  it('prefers the table, then `indicators`, then the first matching rule, for each setting', async () => {
    const { overlay } = await small();
    expect(overlay('atlas', entry('energy_use', { tags: ['power'] }))).toEqual({
      topic: 'energy',
      unit: 'MWh',
      higher_is_better: null,
      order: 7,
      featured: true,
      projected_from: 2024,
      ci_level: 0.9,
      description: 'Use, all of it',
    });
  });

  it('uses the rules where nothing else is curated', async () => {
    const { overlay } = await small();
    expect(overlay('atlas', entry('ENERGY_price'))).toEqual({ topic: 'energy', unit: 'kWh' });
    expect(overlay('atlas', entry('coal', { tags: ['mine', 'Power'] }))).toEqual({
      topic: 'environment',
      higher_is_better: false,
    });
  });

  it('is empty for a series without curated settings', async () => {
    const { overlay } = await small();
    expect(overlay('atlas', entry('rainfall', { tags: ['powerful'] }))).toEqual({});
  });

  it('applies a rule only when all its expressions match, and a licence rule only where upstream states a licence', async () => {
    const { overlay } = await small(
      spoil([
        {
          file: 'providers/atlas.yaml',
          from: '  - tag: ^power$',
          to: '  - name: coal\n    licence: ^(?!CC BY)\n    set: { redistributable: false }\n  - tag: ^power$',
        },
      ]),
    );
    expect(overlay('atlas', entry('coal', { licence: 'IEA terms' }))).toEqual({ redistributable: false });
    expect(overlay('atlas', entry('coal', { licence: 'CC BY-4.0' }))).toEqual({});
    expect(overlay('atlas', entry('coal'))).toEqual({});
    expect(overlay('atlas', entry('gas', { licence: 'IEA terms' }))).toEqual({});
  });

  it('throws for a provider without a definition', async () => {
    const { overlay } = await small();
    expect(() => overlay('globe', entry('gdp'))).toThrow(RangeError);
  });
});
