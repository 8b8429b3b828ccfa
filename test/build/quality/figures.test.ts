/** Checks on figures: what they find in constructed series, and what they leave alone. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { QualityCheck } from '../../../build/quality/check.ts';
import { duplicates } from '../../../build/quality/checks/duplicates.ts';
import { coverage, histories } from '../../../build/quality/checks/histories.ts';
import { partsOfWholes } from '../../../build/quality/checks/parts.ts';
import { twinFigures } from '../../../build/quality/checks/twins.ts';
import { countries, ranges } from '../../../build/quality/checks/values.ts';
import {
  allChanged,
  COUNTRIES,
  type Constructed,
  type ConstructedSeries,
  Constructions,
  changed,
  type Figure,
  plausible,
  random,
  times,
} from './checked-figures.ts';

let constructions: Constructions;
beforeAll(async () => {
  constructions = await Constructions.open();
});
afterAll(() => constructions.close());

const share = { name: 'Paved roads (% of total roads)', unit: 'percent' };
const tonnes = { name: 'Wheat', unit: 'tonnes' };
const seeds = [1, 2, 3, 4, 5, 6, 7, 8];

const find = (check: QualityCheck, series: Constructed, more = {}) => constructions.find(check, series, more);
const findIn = async (check: QualityCheck, one: ConstructedSeries, more = {}) =>
  find(check, { 'a.one': one }, more);
const kinds = (doubts: readonly { kind: string }[]) => doubts.map(({ kind }) => kind);

const perSeed = (make: (seed: number) => ConstructedSeries): Constructed =>
  Object.fromEntries(seeds.map((seed) => [`a.s${seed}`, make(seed)]));

describe('plausible series', () => {
  const good: Constructed = {
    ...perSeed((seed) => ({ ...tonnes, figures: plausible(seed, 10 ** (seed - 3), 0.01 * seed) })),
    'a.share': { ...share, figures: plausible(20, 30).map(([c, y, v]) => [c, y, Math.min(100, v ?? 0)]) },
  };

  it.each([ranges, histories, countries, coverage, duplicates, twinFigures])(
    'are not accused, whatever their level and their noise',
    async (check) => {
      expect(await find(check, good)).toEqual([]);
    },
  );

  it('stay unaccused with rows in another order, and with noise within their spread', async () => {
    const draw = random(5);
    const shuffled = plausible(3, 50).toSorted(() => draw() - 0.5);
    const noisy = allChanged(plausible(3, 50), (value) => value * (1 + 0.01 * (draw() - 0.5)));
    expect(
      await find(histories, {
        'a.x': { ...tonnes, figures: shuffled },
        'a.y': { ...tonnes, figures: noisy },
      }),
    ).toEqual([]);
  });
});

describe('ranges', () => {
  it('finds shares above 100 % and below 0, and counts them', async () => {
    const figures = changed(plausible(1, 30), (c, y) => c === 'KEN' && y > 2020, times(1000));
    const [doubt] = await findIn(ranges, { ...share, figures });
    expect(doubt).toMatchObject({
      kind: 'share_out_of_range',
      countries: ['KEN'],
      years: [2021, 2025],
      extent: 5,
    });
    expect(doubt?.message).toMatch(
      /^Kenya is [\d,]+ % in 20\d\d; 5 values of 1 country lie outside 0 to 100 %\.$/,
    );
  });

  it('finds every share that was multiplied by 100, and every one that was divided', async () => {
    const large = await find(
      ranges,
      perSeed((seed) => ({ ...share, figures: allChanged(plausible(seed, 20), times(100)) })),
    );
    expect(new Set(large.map(({ indicator }) => indicator)).size).toBe(seeds.length);
    const small = await find(
      ranges,
      perSeed((seed) => ({ ...share, figures: allChanged(plausible(seed, 20), times(0.01)) })),
    );
    expect(kinds(small)).toEqual(seeds.map(() => 'magnitude_contradicts_unit'));
  });

  it('finds negative counts, and billions that are units', async () => {
    const figures = changed(plausible(1, 3, 0), (c, y) => c === 'KEN' && y === 2000, times(-1));
    expect(kinds(await findIn(ranges, { ...tonnes, figures }))).toEqual(['negative_value']);
    const money = { name: 'GDP', unit: 'billions of US dollars', figures: plausible(1, 1e12) };
    expect(kinds(await findIn(ranges, money))).toEqual(['magnitude_contradicts_unit']);
  });
});

describe('histories', () => {
  it.each([10, 100, 1000, 0.1, 0.001])('finds a single value that is off by %d', async (factor) => {
    const found = await find(
      histories,
      perSeed((seed) => ({
        ...tonnes,
        figures: changed(plausible(seed, 500), (c, y) => c === 'PER' && y === 1990 + seed, times(factor)),
      })),
    );
    expect(found).toHaveLength(seeds.length);
    for (const [at, doubt] of found.entries())
      expect(doubt).toMatchObject({
        kind: 'decimal_slip',
        countries: ['PER'],
        years: [1991 + at, 1991 + at],
        extent: 1,
      });
  });

  it('finds a country whose unit changes from one year on, in the newest year as well', async () => {
    for (const year of [2005, 2025]) {
      const figures = changed(plausible(2, 500), (c, y) => c === 'PER' && y >= year, times(1000));
      const found = await findIn(histories, { ...tonnes, figures });
      expect(found).toMatchObject([{ kind: 'level_break', countries: ['PER'], years: [year, year] }]);
    }
  });

  it('finds the year from which all countries are in another unit', async () => {
    const figures = changed(plausible(2, 500), (_, y) => y >= 2010, times(100));
    const found = await findIn(histories, { ...tonnes, figures });
    expect(found).toMatchObject([
      {
        kind: 'unit_change',
        years: [2010, 2010],
        message: 'Most countries change by a factor of 100 from the year before to 2010.',
      },
    ]);
  });

  it('finds a single jump and a single sign that no other year has', async () => {
    const jump = changed(plausible(2, 500), (c, y) => c === 'PER' && y === 2010, times(3.3));
    expect(kinds(await findIn(histories, { ...tonnes, figures: jump }))).toEqual(['isolated_value']);
    const sign = changed(plausible(2, 500), (c, y) => c === 'PER' && y === 2010, times(-1));
    expect(kinds(await findIn(histories, { ...tonnes, figures: sign }))).toEqual(['sign_flip']);
  });

  it('takes jumps as normal where they are common', async () => {
    const draw = random(9);
    const wild = allChanged(plausible(2, 500), (value) => value * 10 ** (3 * (draw() - 0.5)));
    expect(await findIn(histories, { name: 'Storm deaths', unit: 'deaths', figures: wild })).toEqual([]);
  });

  it('finds a value that is carried forward, but not where that is the nature of the series', async () => {
    const carry = (isChosen: (iso3: string) => boolean): Figure[] => {
      const last = new Map<string, number | null>();
      return plausible(4, 500).map(([iso3, year, value]) => {
        if (year <= 2010) last.set(iso3, value);
        return [iso3, year, isChosen(iso3) && year > 2010 ? (last.get(iso3) ?? null) : value];
      });
    };
    const found = await findIn(histories, { ...tonnes, figures: carry((iso3) => iso3 === 'PER') });
    expect(found).toMatchObject([
      { kind: 'frozen_values', countries: ['PER'], years: [2010, 2025], extent: 15 },
    ]);
    expect(await findIn(histories, { ...tonnes, figures: carry((iso3) => iso3 < 'DEU') })).toEqual([]);
  });

  it('finds a year that repeats the one before in most countries', async () => {
    const figures = plausible(4, 500);
    const before = new Map(figures.map(([iso3, year, value]) => [`${iso3} ${year}`, value]));
    const repeat = (isChosen: (iso3: string, year: number) => boolean): Figure[] =>
      figures.map(([iso3, year, value]) => [
        iso3,
        year,
        isChosen(iso3, year) ? (before.get(`${iso3} ${year - 1}`) ?? null) : value,
      ]);
    const stale = repeat((iso3, year) => year === 2020 && iso3 > 'BFA');
    expect(await findIn(histories, { ...tonnes, figures: stale })).toMatchObject([
      { kind: 'frozen_values', countries: [], years: [2020, 2020], extent: 34 },
    ]);
    const often = repeat((_, year) => year % 2 === 0);
    expect(await findIn(histories, { ...tonnes, figures: often })).toEqual([]);
  });

  it('finds a country that has the figures of another', async () => {
    const copy = (from: string, to: string, figures: readonly Figure[]): Figure[] => [
      ...figures.filter(([iso3]) => iso3 !== to),
      ...figures.flatMap(([iso3, year, value]): Figure[] => (iso3 === from ? [[to, year, value]] : [])),
    ];
    const one = copy('PER', 'KEN', plausible(4, 500));
    expect(await findIn(histories, { ...tonnes, figures: one })).toMatchObject([
      { kind: 'same_figures_places', countries: ['KEN', 'PER'], extent: 2 },
    ]);
    // Where several countries share figures, a region stands for its countries.
    expect(await findIn(histories, { ...tonnes, figures: copy('DEU', 'FRA', one) })).toEqual([]);
  });

  it('finds another unit in projected years', async () => {
    const projected = changed(plausible(4, 500), (_, year) => year === 2025, times(0.1));
    const found = await findIn(histories, { ...tonnes, figures: projected, projectedFrom: 2020 });
    expect(found).toMatchObject([{ kind: 'unit_change', years: [2025, 2025] }]);
  });
});

describe('countries', () => {
  const population = { name: 'Population', unit: 'people', figures: plausible(7, 3e7) };

  it('finds a country whose latest value is far beyond all others, sums by inhabitant', async () => {
    const rate = changed(plausible(1, 30), (c) => c === 'KEN', times(10_000));
    const people = new Map(population.figures.map(([c, y, v]) => [`${c}${y}`, v ?? 0]));
    const sums = rate.map(([c, y, v]): Figure => [c, y, ((v ?? 0) * (people.get(`${c}${y}`) ?? 0)) / 1e6]);
    const found = await find(countries, {
      'a.population': population,
      'a.rate': { name: 'Rate', unit: 'kg per person', figures: rate },
      'a.sum': { name: 'Sum', unit: 'tonnes', figures: sums },
    });
    expect(found).toMatchObject([
      { kind: 'country_outlier', indicator: 'a.rate', countries: ['KEN'] },
      { kind: 'country_outlier', indicator: 'a.sum', countries: ['KEN'] },
    ]);
  });

  it('finds more people of a kind than inhabitants', async () => {
    const women = allChanged(population.figures, times(0.5));
    const series = (figures: readonly Figure[]): Constructed => ({
      'a.population': population,
      'a.women': { name: 'Women', unit: 'people', figures },
    });
    expect(await find(countries, series(women))).toEqual([]);
    const tooMany = changed(women, (c) => c === 'KEN' || c === 'PER', times(1000));
    expect(kinds(await find(countries, series(tooMany)))).toContain('more_than_population');
  });
});

describe('coverage', () => {
  const ending = (year: number) => plausible(1, 5).filter(([, y]) => y <= year);

  it('finds few countries, featured series that ended, and empty rows', async () => {
    const few = plausible(1, 5).filter(([c]) => c === 'KEN' || c === 'PER');
    const empty = plausible(1, 5).map(([c, y, value]): Figure => [c, y, y % 3 === 0 ? value : null]);
    expect(
      await find(coverage, {
        'a.few': { figures: few },
        'a.ended': { figures: ending(2010), featured: true },
        'a.recent': { figures: ending(2021), featured: true },
        'a.old': { figures: ending(2010) },
        'a.empty': { figures: empty },
      }),
    ).toMatchObject([
      { kind: 'few_countries', indicator: 'a.few', extent: 1 },
      { kind: 'series_ended', indicator: 'a.ended', extent: 16 },
      { kind: 'mostly_empty', indicator: 'a.empty' },
    ]);
  });
});

describe('duplicates', () => {
  it('finds copies of scores, which have few different values', async () => {
    const scores = allChanged(plausible(1, 3), (value) => Math.round(value));
    const found = await find(duplicates, { 'a.one': { figures: scores }, 'a.two': { figures: scores } });
    expect(found).toMatchObject([{ kind: 'duplicate_series', indicator: 'a.one', other: 'a.two' }]);
  });

  it('finds equal figures under two names, rounded and with revisions, unless they are twins', async () => {
    const figures = plausible(1, 500);
    const rounded = allChanged(figures, (value) => Math.round(value * 100) / 100);
    const series: Constructed = {
      'a.boys': { name: 'Boys', figures },
      'a.girls': { name: 'Girls', figures: changed(rounded, (_, y) => y === 1990, times(1.1)) },
      'a.other': { name: 'Cattle', figures: plausible(2, 500) },
    };
    const found = await find(duplicates, series);
    expect(found).toMatchObject([{ kind: 'duplicate_series', indicator: 'a.boys', other: 'a.girls' }]);
    expect(await find(duplicates, series, { twins: [['a.girls', 'a.boys']] })).toEqual([]);
  });
});

describe('twins', () => {
  const figures = plausible(1, 500, 0.04);
  const pair = (other: readonly Figure[]): Constructed => ({ 'a.x': { figures }, 'b.x': { figures: other } });
  const compare = (other: readonly Figure[]) => find(twinFigures, pair(other), { twins: [['b.x', 'a.x']] });

  it('lets rounding and small revisions pass', async () => {
    const draw = random(3);
    const revised = allChanged(figures, (value) =>
      Number((value * (1 + 0.02 * (draw() - 0.5))).toPrecision(3)),
    );
    expect(await compare(revised)).toEqual([]);
  });

  it('finds another power of ten, as a whole and of one country', async () => {
    const all = await compare(allChanged(figures, times(0.001)));
    expect(all).toMatchObject([
      { kind: 'twin_scale', indicator: 'a.x', other: 'b.x', extent: COUNTRIES.length },
    ]);
    const one = await compare(changed(figures, (c) => c === 'PER', times(100)));
    expect(one).toMatchObject([{ kind: 'twin_scale', countries: ['PER'] }]);
    expect(one[0]?.message).toMatch(/^1 country differs by a factor of 100: Peru 2025 is /);
  });

  it.each([1, -1])('finds a shift by a year (%d)', async (shift) => {
    const shifted = figures.map(([c, y, v]): Figure => [c, y + shift, v]);
    const found = await compare(shifted);
    expect(found[0]).toMatchObject({ kind: 'twin_shift', extent: COUNTRIES.length });
    expect(found[0]?.message).toContain(shift === 1 ? 'a year later in b.x' : 'a year earlier in b.x');
  });

  it('finds a country that is far apart, and a pair that never agrees', async () => {
    const one = await compare(changed(figures, (c, y) => c === 'PER' && y === 2025, times(3)));
    expect(one).toMatchObject([{ kind: 'twin_disagreement', countries: ['PER'] }]);
    const all = await compare(allChanged(figures, times(1.4)));
    expect(all).toMatchObject([{ kind: 'twin_disagreement', extent: COUNTRIES.length }]);
  });
});

describe('parts of a whole', () => {
  const share = (seed: number, least: number, most: number): Figure[] => {
    const draw = random(seed);
    return COUNTRIES.flatMap((iso3) => {
      const level = least + (most - least) * draw();
      return Array.from({ length: 30 }, (_, at): Figure => [iso3, 1995 + at, level + 0.1 * at]);
    });
  };
  const [first, second] = [share(1, 15, 40), share(2, 10, 30)];
  const rest = first.map(
    ([iso3, year, value], at): Figure => [iso3, year, 100 - Number(value) - Number(second[at]?.[2])],
  );
  const complement = first.map(([iso3, year, value]): Figure => [iso3, year, 100 - Number(value)]);
  const of = (name: string, figures: readonly Figure[]) => ({ name, unit: '% of the population', figures });
  const three = (second_: readonly Figure[]) => ({
    'p.a': of('People on farms', first),
    'p.b': of('People in villages', second_),
    'p.c': of('People in towns', rest),
  });
  const changed = (
    figures: readonly Figure[],
    country: string,
    factor: number,
    years: number[] | null = null,
  ) =>
    figures.map(
      ([iso3, year, value]): Figure => [
        ...([iso3, year] as const),
        iso3 === country && (years?.includes(year) ?? true) ? Number(value) * factor : value,
      ],
    );
  const find = async (series: Constructed) =>
    (await constructions.find(partsOfWholes, series)).map(({ indicator, other, countries, extent }) => [
      indicator,
      other,
      countries,
      extent,
    ]);

  it('add up on a first night, and are not accused', async () => {
    expect(await find(three(second))).toEqual([]);
    expect(await find({ 'p.a': of('Rural', first), 'p.b': of('Urban', complement) })).toEqual([]);
  });

  it('are found where they do not, the part that left its level by name', async () => {
    expect(await find(three(changed(second, 'KEN', 2, [2001, 2002])))).toEqual([['p.b', null, ['KEN'], 2]]);
    const pair = { 'p.a': of('Rural', changed(first, 'PER', 2)), 'p.b': of('Urban', complement) };
    expect(await find(pair)).toEqual([['p.a', 'p.b', ['PER'], 30]]);
  });

  it('may be fewer than all parts in some countries', async () => {
    expect(await find(three(changed(second, 'KEN', 0.5)))).toEqual([]);
  });
});
