/** Checks of labels: against themselves, upstream, the figures, other series, and the night before. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QualityCheck } from '../../../build/quality/check.ts';
import { labelChanges, levelFactor } from '../../../build/quality/checks/changes.ts';
import { sameFigures } from '../../../build/quality/checks/duplicates.ts';
import { labelFigures, priceBasis, ratesOfTotals } from '../../../build/quality/checks/label-figures.ts';
import { labelWords } from '../../../build/quality/checks/label-words.ts';
import { loadCurated } from '../../../data/curated/curated.ts';
import { DATA } from '../world.ts';
import { type ConstructedSeries, type Figure, findIn } from './checked-figures.ts';

const COUNTRIES = (await loadCurated(DATA)).countries.slice(0, 100).map(({ iso3 }) => iso3);

/** Kind, series and other series of what a check finds. */
async function found(check: QualityCheck, labelled: Record<string, ConstructedSeries>): Promise<string[]> {
  const doubts = await findIn(check, labelled);
  expect(doubts.filter(({ kind }) => !check.kinds.includes(kind))).toEqual([]);
  return doubts
    .map(({ kind, indicator, other }) => [kind, indicator, other].filter(Boolean).join(' '))
    .sort();
}

/** What the words of one series are accused of. */
const accused = async (label: ConstructedSeries, id = 'p.series'): Promise<string[]> =>
  (
    await found(labelWords, {
      [id]: { description: 'Some words on it.', upstream: { description: label.name ?? '' }, ...label },
    })
  ).map((kind) => kind.split(' ')[0] ?? '');

it('finds an amount per person whose unit does not say so, where the other units of its provider do', async () => {
  const label = (name: string, unit: string): ConstructedSeries => ({
    name,
    unit,
    description: 'Some words on it.',
    upstream: { description: name },
  });
  const others = (unit: string) =>
    Object.fromEntries(
      ['Spending', 'Income', 'Oil consumption', 'Gas use'].map((what, at) => [
        `p.s${at}`,
        label(`${what} per person`, unit),
      ]),
    );
  const one = { 'p.one': label('GDP per person', 'current US$') };
  expect(await found(labelWords, { ...others('current US$ per person'), ...one })).toEqual([
    'unit_contradicts_name p.one',
  ]);
  expect(await found(labelWords, { ...others('current US$'), ...one })).toEqual([]);
});

describe('the words of a label', () => {
  it.each([
    ['Aid received (% of GNI)', '% of gross capital formation', ['unit_contradicts_name']],
    ['Cancer deaths (per 1,000 people)', 'deaths per 100,000 people', ['unit_contradicts_name']],
    ['Literacy rate (% of adults)', 'people', []],
    ['Unemployment (% of labour force)', 'number of people', ['unit_contradicts_name']],
    ['GDP per capita (constant 2015 US$)', 'constant 2015 international $', ['unit_contradicts_name']],
    ['GDP per capita (constant 2015 US$)', 'constant 2021 US$', ['unit_contradicts_name']],
    ['GDP per capita (current US$)', 'constant 2015 US$', ['unit_contradicts_name']],
    ['TB cases, reported', 'estimated cases', ['unit_contradicts_name']],
    ['Literacy rate (% of adults)', 'share of one', ['unit_contradicts_name']],
    ['GDP (current US$)', 'millions of current US$', ['unit_contradicts_name']],
    ['GDP (millions of current US$)', 'millions of current US$', []],
    ['Population, female', 'men', ['unit_contradicts_name']],
    ['Agriculture (% of GDP)', 'percent', []],
    ['Income share of the poorest 20%', 'percent', []],
    ['Extreme poverty (% of people below $3.00 a day)', 'percent', []],
    ['GDP/capita (US$, inflation-adjusted)', 'constant 2015 US$ per person', []],
    ['Trade balance (US$, not inflation-adjusted)', 'current US$', []],
    ['Official exchange rate (LCU per US$, period average)', 'LCU per US$, period average', []],
    ['Number of dollar billionaires', 'billionaires', []],
    ['Time to start a business (days)', 'months', ['unit_contradicts_name']],
    ['Paid maternity leave, weeks', 'days', ['unit_contradicts_name']],
    ['Time to resolve insolvency in years', 'months', ['unit_contradicts_name']],
    ['Newborn mortality rate per 1000', 'deaths per 100,000 live births', ['unit_contradicts_name']],
    ['Life expectancy, female', 'months', ['unit_contradicts_name']],
    ['Age at 1st marriage (women)', 'days', ['unit_contradicts_name']],
    ['Life expectancy, female', 'years', []],
    ['Cereal yield (kg per hectare)', 'tonnes', ['unit_contradicts_name']],
    ['Cereal yield (kg per hectare)', 'kg', ['unit_contradicts_name']],
    ['Cereal yield (kg/ha)', 'kilograms per hectare', []],
    ['Meat supply (kg per capita)', 'kg per person', []],
    ['CO2 emissions (thousand tonnes)', 'kilotonnes', []],
    ['CO2 emissions (tonnes per capita)', 'kg per person', ['unit_contradicts_name']],
    ['Time to start a business (days)', 'calendar days', []],
    ['Stunting in children under 60 months', '%', []],
    ['Life expectancy at age 60 (years)', 'years', []],
    ['Working days lost to strikes', 'hours', []],
  ])('of “%s” in “%s”', async (name, unit, kinds) => {
    expect(
      await accused({ name, unit, topic: 'none' }).then((all) =>
        all.filter((kind) => kind.startsWith('unit')),
      ),
    ).toEqual(kinds);
  });

  it.each([
    ['constant US$', ['price_basis_missing']],
    ['international $ per person', ['price_basis_missing']],
    ['billions of US dollars', ['price_basis_missing']],
    ['millions of constant euros', ['price_basis_missing']],
    ['billions, constant prices', ['price_basis_missing']],
    ['millions of constant 2015 euros', []],
    ['constant national currency', []],
    ['% growth at constant prices', []],
    ['index at constant prices, 2015 = 100', []],
    ['current US$', []],
    ['international dollars at 2011 prices', []],
    ['billions of national currency', []],
    ['MJ/$2021 PPP GDP', []],
    [null, ['unit_missing']],
  ])('tell the prices of money in %s', async (unit, kinds) => {
    expect(await accused({ name: 'Something', unit, description: 'Something of this.' })).toEqual(kinds);
  });

  it('miss the year of constant prices that only the name tells', async () => {
    const label = { name: 'Aid given (2023 US$)', description: 'Help for other countries.' };
    expect(await accused({ ...label, unit: 'constant US$' })).toEqual(['price_basis_missing']);
    expect(await accused({ ...label, unit: 'constant 2023 US$' })).toEqual([]);
  });

  it.each<[string, boolean | null, string[]]>([
    ['Infant mortality', true, ['direction_contradicts_name']],
    ['Infant mortality', false, []],
    ['Infant mortality', null, []],
    ['Youth unemployment', true, ['direction_contradicts_name']],
    ['Life expectancy', false, ['direction_contradicts_name']],
    ['Completeness of death registration', true, []],
    ['Literacy and mortality', true, []],
  ])('“%s”, where higher is better: %s', async (name, higher_is_better, kinds) => {
    const label = { name, higher_is_better, topic: 'health', unit: 'index' };
    const all = await accused({ ...label, description: `${name} in some words.` });
    expect(all.filter((kind) => kind.startsWith('direction'))).toEqual(kinds);
  });

  it.each([
    ['Hospital beds', 'trade', []],
    ['Hospital beds', 'energy', ['topic_contradicts_name']],
    ['School enrolment, female', 'gender', []],
    ['Cattle', 'energy', []],
  ])('“%s” under %s', async (name, topic, kinds) => {
    const all = await accused({ name, topic, unit: 'index', description: `${name} in other words.` });
    expect(all.filter((kind) => kind.startsWith('topic'))).toEqual(kinds);
  });

  it('say something else than upstream', async () => {
    const said = (name: string, upstream: ConstructedSeries['upstream'], id = 'p.x') =>
      accused({ name, unit: 'deaths', upstream: { description: name, ...upstream } }, id);
    const kind = 'label_contradicts_source';
    expect(await said('Flood deaths', { name: 'People affected by floods' })).toContain(kind);
    expect(await said('Rural water', { name: 'Urban water' })).toContain(kind);
    expect(await said('Cattle', { name: 'Telephones' })).toContain(kind);
    expect(await said('Flood deaths', {}, 'p.flood_deaths_annual')).not.toContain(kind);
    expect(await said('Storm damage', {}, 'p.flood_deaths_annual')).not.toContain(kind);
  });

  it('are compared with slugs that are words, and not with codes', async () => {
    const label = (name: string): ConstructedSeries => ({
      name,
      unit: 'index',
      description: `${name} told.`,
    });
    const wordy = {
      'p.cattle': label('Cattle'),
      'p.rice': label('Rice'),
      'p.sheep': label('Sheep'),
      'p.goats': label('Goats'),
    };
    const kind = 'label_contradicts_source';
    expect(await found(labelWords, { ...wordy, 'p.wheat': label('Barley') })).toEqual([`${kind} p.wheat`]);
    expect(await found(labelWords, { 'q.AG.A': label('Cattle'), 'q.AG.B': label('Rice') })).toEqual([]);
  });

  it('are described by words of their own', async () => {
    const label = { name: 'Tetanus deaths in newborn', unit: 'deaths', topic: 'health' };
    const repeats = 'Tetanus deaths, newborn (deaths)';
    expect(await accused({ ...label, description: repeats })).toEqual(['description_uninformative']);
    expect(await accused({ ...label, description: null })).toEqual([]);
    expect(await accused({ ...label, description: null, featured: true })).toEqual([
      'description_uninformative',
    ]);
    const other = 'Vehicles on paved roads.';
    expect(await accused({ ...label, description: other, upstream: { description: other } })).toEqual([
      'description_of_another',
    ]);
    expect(await accused({ ...label, description: 'Babies who die of lockjaw.' })).toEqual([]);
  });

  it('tell two series of one provider apart', async () => {
    const label = { name: 'Cattle', unit: 'head', description: 'Cattle on farms.' };
    expect(await found(labelWords, { 'p.a': label, 'p.b': label, 'q.a': label })).toEqual([
      'label_repeated p.a p.b',
    ]);
  });
});

describe('the unit and the figures', () => {
  /** Populations from small to large, in no order of the alphabet. */
  const people = (iso3: string): number => 1000 * 1.1 ** ((COUNTRIES.indexOf(iso3) * 37) % 100);
  const yearly = (value: (iso3: string, at: number) => number): Figure[] =>
    COUNTRIES.map((iso3, at) => [iso3, 2020, value(iso3, at)]);

  it('grow with the population, if they are totals, and else do not', async () => {
    const population: ConstructedSeries = {
      name: 'Population, total',
      unit: 'people',
      figures: yearly(people),
    };
    const total = yearly((iso3, at) => people(iso3) * (1 + (at % 7) / 10));
    const rate = yearly((_, at) => 10 + ((at * 13) % 17));
    const sorted = { 'p.population': population };
    expect(
      await found(labelFigures, { ...sorted, 'p.a': { name: 'Murders', unit: 'deaths', figures: total } }),
    ).toEqual([]);
    expect(
      await found(labelFigures, { ...sorted, 'p.b': { name: 'Literacy', unit: 'percent', figures: rate } }),
    ).toEqual([]);
    expect(
      await found(labelFigures, {
        ...sorted,
        'p.a': { name: 'Murders', unit: 'deaths', figures: rate },
        'p.b': { name: 'Literacy', unit: 'percent', figures: total },
      }),
    ).toEqual(['size_contradicts_unit p.a', 'size_contradicts_unit p.b']);
  });

  it('of a rate and of its total agree', async () => {
    const cases = (iso3: string, at: number): number => people(iso3) * (0.001 + (at % 11) / 10_000);
    const years = [2000, 2010];
    const rows = (value: (iso3: string, at: number) => number): Figure[] =>
      years.flatMap((year) => COUNTRIES.map((iso3, at): Figure => [iso3, year, value(iso3, at)]));
    const rate = (name: string, unit: string): Promise<string[]> =>
      found(ratesOfTotals, {
        'p.population': { name: 'Population, total', unit: 'people', figures: rows(people) },
        'p.rate': { name, unit, figures: rows((iso3, at) => (1e5 * cases(iso3, at)) / people(iso3)) },
        'p.total': { name: 'TB cases, reported', unit: 'cases', figures: rows(cases) },
        'q.total': { name: 'TB cases, estimated', unit: 'cases', figures: rows(cases) },
      });
    expect(await rate('TB cases, reported', 'per 100,000 people')).toEqual([]);
    expect(await rate('TB cases, estimated', 'per 100,000 people')).toEqual([
      'rate_of_another_total p.rate p.total',
    ]);
    expect(await rate('TB cases, reported', 'per 1,000 people')).toEqual([
      'scale_contradicts_unit p.rate p.total',
    ]);
  });

  it('stay in the range that the label states', async () => {
    const label = { name: 'Rating (1=low to 6=high)', unit: '1=low to 6=high' };
    expect(
      await found(labelFigures, { 'p.a': { ...label, figures: yearly((_, at) => 1 + (at % 6)) } }),
    ).toEqual([]);
    expect(await found(labelFigures, { 'p.a': { ...label, figures: yearly((_, at) => 10 + at) } })).toEqual([
      'figures_out_of_stated_range p.a',
    ]);
  });
});

describe('equal figures', () => {
  const figures = (factor: number): Figure[] =>
    COUNTRIES.slice(0, 40).map((iso3, at) => [iso3, 2007, factor * (3.1 + at * 0.0213)]);
  const rest: ConstructedSeries = { name: 'Cereal yield', unit: 'kg per hectare', figures: figures(1.7) };

  it('under labels that mean the same are twins', async () => {
    expect(
      await found(sameFigures, {
        'p.a': { name: 'Forest area (sq. km)', unit: 'km²', figures: figures(1) },
        'q.a': { name: 'Forest land', unit: 'hectares', figures: figures(100) },
        'q.b': rest,
      }),
    ).toEqual([]);
  });

  it('contradict other bases, other events and other units', async () => {
    const pair = (a: [string, string], b: [string, string], factor = 1) =>
      found(sameFigures, {
        'p.a': { name: a[0], unit: a[1], figures: figures(1) },
        'q.a': { name: b[0], unit: b[1], figures: figures(factor) },
        'q.b': rest,
      });
    const other = ['same_figures_other_label p.a q.a'];
    expect(await pair(['Aid (% of GNI)', '%'], ['Aid (% of investment)', '% of investment'])).toEqual(other);
    expect(await pair(['Newly HIV infected (%)', '%'], ['Prevalence of HIV', '% of adults'])).toEqual(other);
    expect(await pair(['Cattle', 'head'], ['Telephones', 'lines'])).toEqual(other);
    const scale = ['scale_contradicts_unit p.a q.a'];
    expect(await pair(['Forest area', 'km²'], ['Forest land', 'hectares'])).toEqual(scale);
    expect(await pair(['Literacy', '%'], ['Literacy', 'per cent'], 100)).toEqual(scale);
    expect(await pair(['TB cases', 'per 1,000 people'], ['TB cases', 'per 100,000 people'], 10)).toContain(
      scale[0],
    );
  });
});

describe('money', () => {
  const YEARS = Array.from({ length: 12 }, (_, at) => 2010 + at);
  const income = (iso3: string): number => 1000 * 1.04 ** COUNTRIES.indexOf(iso3);
  /** Poor countries are cheap: a dollar buys four times as much in the poorest. */
  const prices = (iso3: string): number => 0.25 + (0.75 * COUNTRIES.indexOf(iso3)) / COUNTRIES.length;
  const inflation = (year: number): number => 1.03 ** (year - 2015);
  const rows = (value: (iso3: string, year: number) => number): Figure[] =>
    COUNTRIES.flatMap((iso3) => YEARS.map((year): Figure => [iso3, year, value(iso3, year)]));
  const base: Record<string, ConstructedSeries> = {
    'p.population': { name: 'Population, total', unit: 'people', figures: rows(() => 1e6) },
    'p.us': {
      name: 'GDP per capita (current US$)',
      unit: 'current US$',
      figures: rows((iso3, year) => income(iso3) * prices(iso3) * inflation(year)),
    },
    'p.ppp': {
      name: 'GDP per capita, PPP (current international $)',
      unit: 'current international $',
      figures: rows((iso3, year) => income(iso3) * inflation(year)),
    },
  };
  const with_ = (name: string, unit: string, value: (iso3: string, year: number) => number) =>
    found(priceBasis, { ...base, 'q.a': { name, unit, figures: rows(value) } });

  it('is converted as its label says', async () => {
    const [ppp, us] = ['GDP per employee, constant international $', 'GDP per employee, constant US$'];
    const atPpp = (iso3: string) => 2.3 * income(iso3);
    const atMarketRates = (iso3: string) => 2.3 * income(iso3) * prices(iso3);
    const kind = ['conversion_contradicts_label q.a'];
    expect(await with_(ppp, 'constant 2015 international $', atPpp)).toEqual([]);
    expect(await with_(us, 'constant 2015 US$', atMarketRates)).toEqual([]);
    expect(await with_(ppp, 'constant 2015 international $', atMarketRates)).toEqual(kind);
    expect(await with_(us, 'constant 2015 US$', atPpp)).toEqual(kind);
  });

  it('equals current prices in the base year that its label names', async () => {
    const name = 'GDP per capita, PPP';
    const constant = (iso3: string) => income(iso3);
    expect(await with_(name, 'constant 2015 international $', constant)).toEqual([]);
    expect(await with_(name, 'constant 2021 international $', constant)).toEqual([
      'base_year_contradicts_label q.a',
    ]);
    expect(await with_(name, 'current international $', constant)).toEqual([
      'base_year_contradicts_label q.a',
    ]);
  });
});

describe('the night before', () => {
  const rows = (factor: number): Figure[] =>
    COUNTRIES.map((iso3, at): Figure => [iso3, 2020, factor * (10 + ((at * 7) % 31))]);
  const label = { name: 'Cattle', unit: 'head', description: 'Cattle on farms.' };

  async function since(before: ConstructedSeries, now: ConstructedSeries): Promise<string[]> {
    const doubts = await findIn(labelChanges, { 'p.a': now }, { before: { 'p.a': before } });
    return doubts.map(({ kind, extent }) => `${kind} ${extent}`);
  }

  it('had the same label, or other figures with another label', async () => {
    const series = { ...label, figures: rows(1) };
    expect(await since(series, series)).toEqual([]);
    expect(await since(series, { ...series, name: 'Sheep', unit: 'thousand head' })).toEqual([
      'label_changed 2',
    ]);
    expect(await since(series, { ...series, higher_is_better: true })).toEqual(['label_changed 1']);
    expect(await since(series, { ...series, figures: rows(1.02) })).toEqual([]);
    expect(await since(series, { ...series, figures: rows(100) })).toEqual(['level_changed 100']);
    expect(await since(series, { ...series, figures: rows(0.001) })).toEqual(['level_changed 1000']);
    expect(await since(series, { ...series, unit: 'thousand head', figures: rows(0.001) })).toEqual([]);
  });

  it('moves by the factor by which every figure is multiplied', () => {
    const positive = fc.double({ min: 1e-3, max: 1e3, noNaN: true });
    fc.assert(
      fc.property(fc.array(positive, { minLength: 30 }), positive, (values, factor) => {
        const quartiles = (all: number[]) => {
          const sorted = all.toSorted((a, b) => a - b);
          const [q1, median, q3] = [0.25, 0.5, 0.75].map(
            (part) => sorted[Math.floor(part * (all.length - 1))] ?? 0,
          );
          return { q1: q1 ?? 0, median: median ?? 0, q3: q3 ?? 0 };
        };
        const moved = levelFactor(quartiles(values), quartiles(values.map((value) => value * factor)));
        expect(moved).toBeCloseTo(Math.max(factor, 1 / factor), 6);
      }),
    );
  });
});
