/** What the search promises, on a small catalogue made for it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTraits } from '../../../../build/quality/concept-words.ts';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import { UNDECIDED } from '../../../../data/schema/traits.ts';
import { Catalogue, toEntry } from '../../../../gateway/api/snapshot/editions/catalogue.ts';
import { searchFor } from '../../../../gateway/api/snapshot/search/searches.ts';
import type { FindOptions } from '../../../../gateway/api/snapshot/search/series-search.ts';

interface Made extends Partial<Pick<IndicatorRecord, 'unit' | 'description' | 'access_tier' | 'preferred'>> {
  concept?: string;
  latest?: number;
  countries?: number;
}

function make(id: string, name: string, made: Made = {}) {
  const { unit = null, description = null, access_tier = 'open', preferred = false, concept = null } = made;
  const { latest = 2024, countries = 200 } = made;
  const credit = { licence: 'CC BY 4.0', licence_url: null, attribution: 'Made' };
  const record: IndicatorRecord = {
    id,
    name,
    description,
    unit,
    topic: 'health',
    higher_is_better: null,
    preferred,
    featured: false,
    access_tier,
    no_rank: false,
    ...credit,
    provider: { id: 'made', name: 'Made', ...credit },
    coverage: { n_countries: countries, yr_min: 1960, yr_max: latest, latest_year: latest },
  };
  return toEntry({
    record,
    topic_order: 1,
    has_projections: false,
    traits: { concept, ...readTraits(name, unit), measured: UNDECIDED },
  });
}

const LIFE = 'life-expectancy';
const catalogue = new Catalogue(
  '2026-11-20T02:00:00+00:00',
  [],
  [
    make('a.LE.FE', 'Life expectancy at birth, female (years)', { unit: 'years' }),
    make('a.LE.MA', 'Life expectancy at birth, male (years)', { unit: 'years' }),
    make('a.SP.LE', 'Life expectancy at birth, total (years)', {
      unit: 'years',
      concept: LIFE,
      preferred: true,
    }),
    make('b.life', 'Life expectancy', { unit: 'years', concept: LIFE }),
    make('a.HOM', 'Intentional homicides (per 100,000 people)', { unit: 'per 100,000 people' }),
    make('a.CO2.PC', 'CO2 emissions (metric tons per capita)', { unit: 'metric tons per capita' }),
    make('a.CO2.KT', 'CO2 emissions (kt)', { unit: 'kt' }),
    make('a.AF', 'Armed forces personnel, total', { unit: 'people' }),
    make('a.LIT.Y', 'Literacy rate, youth total (% of people ages 15-24)', {
      unit: '% of people ages 15-24',
    }),
    make('a.LIT', 'Literacy rate, adult total (% of people ages 15 and above)', {
      unit: '% of people ages 15 and above',
    }),
    make('a.RENT', 'Total natural resources rents (% of GDP)', { unit: '% of GDP' }),
    make('a.CUR', 'Current account balance (% of GDP)', { unit: '% of GDP' }),
    make('a.UNE', 'Unemployment, total (% of total labor force)', { unit: '% of total labor force' }),
    make('a.HOS', 'Hospital beds (per 1,000 people)', { unit: 'per 1,000 people' }),
    make('c.HOS', 'Hospital beds', { unit: 'per 1,000 people', access_tier: 'display' }),
    make('d.HOS', 'Hospital beds', { unit: 'per 1,000 people', latest: 1990 }),
    make('e.HOS', 'Hospital beds', { unit: 'per 1,000 people', countries: 9 }),
    make('a.PHO.PC', 'Phones per 100 people', { unit: 'per 100 people' }),
    make('a.PHO', 'Phones in working order', { unit: 'phones' }),
    make('a.PHO.G', 'Phones, growth', { unit: 'annual %' }),
    make('a.INF', 'Share of deaths by communicable diseases (% of deaths)', { unit: '% of deaths' }),
    make('a.NCD', 'Share of deaths by non-communicable diseases (% of deaths)', { unit: '% of deaths' }),
    make('a.DEF', 'Depth of credit information', {
      description: 'How much lenders know of the solvency of borrowers.',
    }),
  ],
);

const find = (text: string, options: Partial<FindOptions> = {}) =>
  searchFor(catalogue).find(text, { limit: 10, ...options });
const first = (text: string): string | undefined => find(text)[0]?.record.id;

describe('the search', () => {
  it.each([
    ['CO₂ per person', 'a.CO2.PC'],
    ['co2 emissions, PER CAPITA!', 'a.CO2.PC'],
    ['lifespan', 'a.SP.LE'],
    ['how long do people live', 'a.SP.LE'],
    ['murder rate', 'a.HOM'],
    ['soldiers', 'a.AF'],
    ['jobless', 'a.UNE'],
    ['people who can read and write', 'a.LIT'],
  ])('understands everyday words: %s', (text, id) => {
    const [hit] = find(text);
    expect([hit?.record.id, hit?.match]).toEqual([id, 'good']);
  });

  it('forgives one wrong letter in five and two in eight, and no more', () => {
    expect(first('homicides')).toBe('a.HOM');
    expect(first('hopsital')).toMatch(/\.HOS$/);
    expect(first('hospitel')).toMatch(/\.HOS$/);
    expect(first('literasy')).toBe('a.LIT');
    expect(first('unemploimet')).toBe('a.UNE');
    expect(find('hosxyzal')).toEqual([]);
    expect(find('bets')).toEqual([]);
  });

  it('takes the last word for a beginning while somebody types, and no other word', () => {
    expect(find('hosp')).toEqual([]);
    expect(find('hosp', { isTyping: true })[0]?.record.id).toMatch(/\.HOS$/);
    expect(find('hosp ', { isTyping: true })).toEqual([]);
    expect(find('rent')[0]?.record.id).toBe('a.RENT');
    expect(find('rent').map(({ record }) => record.id)).not.toContain('a.CUR');
  });

  it('knows codes of providers in any case', () => {
    for (const text of ['SP.LE', 'sp.le', 'a.sp.le', 'show me SP.LE, please'])
      expect([find(text)[0]?.record.id, find(text)[0]?.why]).toEqual(['a.SP.LE', ['code']]);
    expect(find('hom')[0]?.why).toEqual(['code']);
    expect(first('LIFE')).toBe('a.SP.LE');
    const ofLife = find('b.life expectancy').filter(({ concept }) => concept === LIFE);
    expect(ofLife.map(({ record, twins }) => [record.id, twins.map(({ id }) => id)])).toEqual([
      ['b.life', ['a.SP.LE']],
    ]);
  });

  it('gives the undivided total before women and men, and those who are asked for before it', () => {
    expect(first('life expectancy')).toBe('a.SP.LE');
    expect(first('life expectancy of women')).toBe('a.LE.FE');
    expect(first('how long do men live')).toBe('a.LE.MA');
    expect(first('literacy')).toBe('a.LIT');
    expect(first('literacy of young people')).toBe('a.LIT.Y');
  });

  it('gives the preferred series of a concept, with its twins', () => {
    const hits = find('life expectancy');
    expect(hits[0]?.twins.map(({ id }) => id)).toEqual(['b.life']);
    expect(hits.filter(({ concept }) => concept === LIFE)).toHaveLength(1);
    const [other] = find('life expectancy', { isWanted: ({ id }) => id !== 'a.SP.LE' });
    expect([other?.record.id, other?.twins]).toEqual(['b.life', []]);
  });

  it('gives numbers where a number is asked for, and changes only where they are', () => {
    expect(first('how many phones')).toBe('a.PHO');
    expect(first('phones per 100')).toBe('a.PHO.PC');
    expect(first('phones in working order')).toBe('a.PHO');
    expect(first('phones')).not.toBe('a.PHO.G');
    expect(first('growth of phones')).toBe('a.PHO.G');
    expect(find('how many phones').find(({ record }) => record.id === 'a.PHO.PC')?.match).not.toBe('good');
  });

  it('tells a word from its denial', () => {
    expect(first('deaths by infectious diseases')).toBe('a.INF');
    expect(first('deaths by chronic diseases')).toBe('a.NCD');
  });

  it('calls nothing good that has none of the years that are asked for', () => {
    expect(find('life expectancy', { years: [1990, 1200] })[0]?.match).toBe('good');
    expect(find('life expectancy', { years: [1200] })[0]?.match).toBe('weak');
  });

  it('finds a wanted series among more than it compares', () => {
    const many = Array.from({ length: 200 }, (_, at) => make(`m.S${at}`, `Steel of kind ${at}`, {}));
    const all = new Catalogue(
      '2026-11-20T02:00:00+00:00',
      [],
      [...many, make('z.LAST', 'Steel of the last kind of all', {})],
    );
    const hits = searchFor(all).find('steel', { limit: 5, isWanted: ({ id }) => id === 'z.LAST' });
    expect(hits.map(({ record }) => record.id)).toEqual(['z.LAST']);
  });

  it('gives exportable, current and covered series first', () => {
    expect(first('hospital beds')).toBe('a.HOS');
  });

  it('calls nothing good whose words are not held, and names words that are spelt like them', () => {
    for (const text of ['hospital nurses', 'unicorns per 1,000 people', 'solvency', 'GDP of unicorns'])
      expect([text, find(text)[0]?.match]).not.toEqual([text, 'good']);
    expect(find('unicorns')).toEqual([]);
    expect(searchFor(catalogue).nearestWords('hosbitels of unicorns')).toEqual(['hospital']);
    expect(searchFor(catalogue).nearestWords('uk labs, babs')).toEqual([]);
  });

  it('finds each series by its name, whatever the case, the order of its words and what stands between them', () => {
    const names = [...catalogue.indicators.values()].map(({ record }) => record);
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.boolean(),
        fc.boolean(),
        ({ id, name }, isUpper, isReversed) => {
          const words = name.replaceAll(/[()%,]/g, ' ').split(/\s+/);
          const text = (isReversed ? words.reverse() : words).join('  ');
          const found = find(isUpper ? text.toUpperCase() : text).flatMap(({ record, twins }) => [
            record,
            ...twins,
          ]);
          expect(found.slice(0, 5).map((record) => record.id)).toContain(id);
        },
      ),
    );
  });
});
