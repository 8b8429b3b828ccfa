/** What the curated table and the providers' stated methods make of a series, on the labels of published ones. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { measureSeries } from '../../../build/editions/relations/measures.ts';
import type { CheckContext } from '../../../build/quality/check.ts';
import { measures } from '../../../build/quality/checks/measures.ts';
import { loadCurated } from '../../../data/curated/curated.ts';
import type { AggregateDeviation } from '../../../data/schema/groups.ts';
import { bareEntry } from '../../../data/schema/lake.ts';
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { SMALL, withFiles } from '../../data/small-curated.ts';

interface Label {
  name?: string;
  unit?: string | null;
  /** How the provider aggregates. */
  stated?: string;
  latest?: number;
  countries?: number;
  tier?: IndicatorRecord['access_tier'];
}

const PUBLISHED: Record<string, Label> = {
  'world-bank.SP.POP.TOTL': { name: 'Population, total', unit: 'people', stated: 'Sum' },
  'world-bank.NY.GDP.MKTP.CD': {
    name: 'GDP (current US$)',
    unit: 'current US$',
    stated: 'Gap-filled total',
  },
  'imf.lp': { name: 'Population', unit: 'millions of persons', latest: 2018 },
  'imf.ngdpd': { name: 'GDP, current prices', unit: 'billions of US dollars', latest: 2018 },
  'gapminder.total_population_with_projections': { name: 'Total population', unit: 'people', latest: 2010 },
};

function recordOf(
  id: string,
  { name = id, unit = null, latest = 2024, countries = 200, tier = 'open' }: Label,
): IndicatorRecord {
  const credit = { licence: 'CC0', licence_url: null, attribution: 'us' };
  return {
    id,
    name,
    description: null,
    unit,
    topic: 'economy',
    higher_is_better: null,
    preferred: false,
    featured: false,
    access_tier: tier,
    no_rank: false,
    ...credit,
    provider: { id: id.slice(0, id.indexOf('.')), name: 'P', ...credit },
    coverage: { n_countries: countries, yr_min: 1960, yr_max: latest, latest_year: latest },
  };
}

const curated = await loadCurated('data');

/** Measures some labels beside the published ones. */
function measure(labels: Record<string, Label>, tables = curated, withheld = new Set<string>()) {
  const all = Object.entries({ ...PUBLISHED, ...labels });
  const indicators = all.map(([id, { stated }]) => ({
    id,
    upstream: {
      ...bareEntry(id),
      ...(stated !== undefined && { aggregation: stated }),
    },
  }));
  return measureSeries(
    indicators,
    all.map(([id, label]) => recordOf(id, label)),
    tables,
    withheld,
  );
}

const one = (id: string, label: Label) => measure({ [id]: label }).get(id)?.traits.measured;

describe('what a series measures', () => {
  it.each([
    ['GDP (current US$)', 'current US$', 'amount', 'sum'],
    ['GDP, current prices, national currency', 'billions of national currency', 'amount', 'none'],
    ['GDP per capita (current US$)', 'current US$', 'ratio', 'mean'],
    ['GDP per capita, national currency', 'national currency', 'ratio', 'none'],
    ['Exports (% of GDP)', 'percent', 'rate', 'mean'],
    ['Literacy rate (% of people ages 15 and above)', 'percent', 'rate', 'none'],
    ['Poverty at national poverty lines (% of population)', '% of population', 'rate', 'none'],
    ['Gini index', 'index (0-100)', 'score', 'none'],
    ['Consumer price index, average', 'index', 'index', 'none'],
    ['Inflation (annual %)', 'annual %', 'growth', 'none'],
    ['Income growth (%)', '%', 'growth', 'none'],
    ['Pump price', 'current US$ per liter', 'price', 'none'],
    ['Official exchange rate', 'LCU per US$, period average', 'price', 'none'],
    ['Birth rate, crude (per 1,000 people)', 'per 1,000 people', 'ratio', 'mean'],
    ['Fertility rate, total (births per woman)', 'births per woman', 'ratio', 'none'],
    ['Deaths', 'deaths', 'count', 'sum'],
    ['Days to start a business', 'days', 'duration', 'none'],
    ['Forbidden by the constitution', '1=yes; 0=no', 'other', 'none'],
  ])('is read from name and unit: %s, %s', (name, unit, expected, aggregate) => {
    expect(one('owid.series', { name, unit })).toMatchObject({
      measure: expected,
      aggregate,
      decided_by: 'rule',
    });
  });

  it('is undecided where no row and no rule fits, a bare percentage included', () => {
    const undecided = {
      measure: 'other',
      aggregate: 'none',
      weight: null,
      population: null,
      decided_by: null,
    };
    expect(one('owid.series', { name: 'Happiness (%)', unit: '%' })).toEqual(undecided);
    expect(one('owid.series', { name: 'Flow', unit: 'furlongs' })).toEqual(undecided);
    expect(one('owid.series', { name: 'Flow', unit: null })).toEqual(undecided);
  });

  it('narrows a rule to the method that the provider states, and never widens it', () => {
    const share = { name: 'Credit (% of GDP)', unit: '% of GDP' };
    const methods = ['Weighted average', 'Median', 'Unweighted average', 'Sum', 'Models'];
    expect(methods.map((stated) => one('owid.series', { ...share, stated })?.aggregate)).toEqual([
      ...['mean', 'none', 'none', 'none', 'none'],
    ]);
    const literacy = { name: 'Literacy (% of adults)', unit: '% of adults' };
    expect(one('owid.series', { ...literacy, stated: 'Weighted average' })).toMatchObject({
      aggregate: 'none',
      decided_by: 'provider',
    });
    const own = { name: 'Bird species', unit: 'species', stated: 'Sum' };
    expect(one('world-bank.EN.BIR.THRD.NO', own)).toMatchObject({ aggregate: 'none', decided_by: 'row' });
  });

  it('is weighed by the series of the same provider that is about as new, else by the preferred one', () => {
    const rate = { name: 'Access (% of population)', unit: '% of population' };
    expect(one('imf.access', { ...rate, latest: 2019 })?.weight).toBe('imf.lp');
    expect(one('imf.access', { ...rate, latest: 2024 })?.weight).toBe('world-bank.SP.POP.TOTL');
    expect(one('gapminder.access', { ...rate, latest: 2012 })?.weight).toBe(
      'gapminder.total_population_with_projections',
    );
    expect(one('owid.access', rate)?.weight).toBe('world-bank.SP.POP.TOTL');
    expect(one('imf.deaths', { unit: 'deaths', latest: 2018 })).toMatchObject({
      population: 'imf.lp',
      weight: null,
    });
  });

  it('measures the coverage of a sum by the population of most countries that is about as new', () => {
    const divisorOf = (id: string, label: Label) => measure({ ...wide, [id]: label }).get(id)?.divisor;
    const wide = { 'owid.population-total': { unit: 'people', countries: 237 } };
    expect(divisorOf('world-bank.deaths', { unit: 'deaths' })).toBe('owid.population-total');
    expect(divisorOf('owid.population-total', { unit: 'people' })).toBe('world-bank.SP.POP.TOTL');
    expect(divisorOf('world-bank.score', { unit: 'index (0-100)' })).toBeNull();
  });

  it('has no mean without a denominator that may be exported, and says so of a row of its own', () => {
    const closed = { name: 'Births attended', unit: '% of total' };
    const id = 'world-bank.SP.REG.BRTH.ZS';
    const registered = { name: 'Completeness of birth registration (%)', unit: '%' };
    for (const tier of ['display', 'open'] as const) {
      const found = measure({ [id]: registered, 'owid.population-under-5s': { unit: 'people', tier } }).get(
        id,
      );
      const isOpen = tier === 'open';
      expect(found?.traits.measured.aggregate).toBe(isOpen ? 'mean' : 'none');
      expect(found?.faults).toEqual(
        isOpen ? [] : [expect.stringMatching(/^measures\.csv:\d+: the weight owid\.population-under-5s is/)],
      );
    }
    expect(one('world-bank.SH.STA.BRTC.ZS', closed)?.aggregate).toBe('none');
    const faultsWith = (withheld: Set<string>) =>
      measure({ [id]: registered }, curated, withheld).get(id)?.faults;
    expect(faultsWith(new Set(['owid.population-under-5s']))).toHaveLength(1);
    // The provider's own method decides against the row: nothing is wrong with it.
    const underweight = {
      'world-bank.SH.STA.MALN.ZS': { name: 'Underweight', unit: '% of children under 5', stated: 'Median' },
      'owid.population-under-5s': { unit: 'people' },
    };
    const narrowed = measure(underweight).get('world-bank.SH.STA.MALN.ZS');
    expect([narrowed?.traits.measured.aggregate, narrowed?.faults]).toEqual(['none', []]);
    // Not held: nothing is wrong with the row.
    expect(faultsWith(new Set())).toEqual([]);
  });
});

describe('rows that contradict the label', () => {
  const rows = (row: string): Record<string, string> => ({
    ...SMALL,
    'measures.csv': `subject,name,unit,measure,scale,aggregate,weight,per_head,reason\n${row}\n`,
  });
  it.each([
    ['atlas.gdp,,,amount,,sum,,,Money.', '% of GDP', 'the measure amount contradicts the unit “% of GDP”'],
    ['atlas.gdp,,,count,,sum,,,People.', 'per 1,000 people', 'the measure count contradicts the unit'],
    ['atlas.gdp,,,rate,,none,,,A share.', 'US$', 'the measure rate contradicts the unit “US$”'],
    [
      'product,,,amount,6,sum,,,Money.',
      'billions of US$',
      'the scale 6 contradicts the unit “billions of US$”',
    ],
  ])('decide nothing: %s of %s', async (row, unit, told) => {
    const tables = await withFiles(rows(row), (dir) => loadCurated(dir));
    const found = measure({ 'atlas.gdp': { name: 'Product', unit } }, tables).get('atlas.gdp');
    expect(found?.traits.measured.decided_by).toBeNull();
    expect(found?.faults).toEqual([expect.stringContaining(`measures.csv:2: ${told}`)]);
  });

  it('leave the scale of the unit, and set it where the unit says none', async () => {
    const tables = await withFiles(rows('product,,,amount,6,sum,,,Money.'), (dir) => loadCurated(dir));
    const scaleOf = (unit: string) =>
      measure({ 'atlas.gdp': { unit } }, tables).get('atlas.gdp')?.traits.scale;
    expect([scaleOf('millions of US$'), scaleOf('US$')]).toEqual([6, 6]);
  });
});

it('holds of every series: sums are of quantities, means are weighed by another open series', () => {
  const units = [
    '%',
    '% of GDP',
    'people',
    'US$',
    'current US$',
    'index',
    'per 1,000 people',
    'kt',
    'days',
    '',
  ];
  const label = fc.record({
    unit: fc.constantFrom(...units),
    name: fc.constantFrom('A', 'B per capita', 'C growth (%)'),
  });
  fc.assert(
    fc.property(label, fc.constantFrom(undefined, 'Sum', 'Weighted average', 'Median'), (given, stated) => {
      const found = one('owid.series', { ...given, ...(stated !== undefined && { stated }) });
      if (found === undefined) throw new Error('not measured');
      const { measure: what, aggregate, weight, population } = found;
      if (aggregate === 'sum') expect(['count', 'amount']).toContain(what);
      expect(weight !== null).toBe(aggregate === 'mean');
      if (weight !== null) expect(Object.keys(PUBLISHED)).toContain(weight);
      if (population !== null) expect(['count', 'amount']).toContain(what);
    }),
  );
});

describe('findings', () => {
  const find = (
    labels: Record<string, Label>,
    deviations: Record<string, AggregateDeviation> = {},
    tables = curated,
  ) => {
    const measured = new Map([...measure(labels, tables)].filter(([id]) => id in labels));
    const given = { measured, deviations: new Map(Object.entries(deviations)), curated: tables };
    return measures.find(given as unknown as CheckContext);
  };
  const far = { cells: 40, median: 0.2, p95: 2.5 };

  it('name series that nobody has decided, unless no table decides anything', async () => {
    const labels = { 'atlas.flow': { unit: 'furlongs' }, 'owid.deaths': { unit: 'deaths' } };
    const [undecided, ...more] = await find(labels);
    expect(more).toEqual([]);
    expect(undecided).toMatchObject({ kind: 'measure_undecided', indicator: 'atlas.flow' });
    // The row that it says decides.
    const row = undecided?.message
      .split(': ')
      .at(-1)
      ?.replace('<measure>', 'score')
      .replace('<reason>', 'Read.');
    const table = `${SMALL['measures.csv']?.trimEnd()}\n${row}\n`;
    const decided = await withFiles({ ...SMALL, 'measures.csv': table }, (dir) => loadCurated(dir));
    expect(await find({ 'atlas.flow': labels['atlas.flow'] }, {}, decided)).toEqual([]);
    const { 'measures.csv': _, ...rest } = SMALL;
    const without = await withFiles(rest, (dir) => loadCurated(dir));
    expect(await find(labels, {}, without)).toEqual([]);
  });

  it('name rows that do not fit, by file and line', async () => {
    const labels = { 'world-bank.SP.REG.BRTH.ZS': { name: 'Birth registration (%)', unit: 'US$' } };
    expect(await find(labels)).toMatchObject([
      {
        kind: 'measure_unfit',
        message: expect.stringMatching(/^measures\.csv:\d+: the measure rate contradicts/),
      },
    ]);
  });

  it('name methods that give other figures than the provider, unless a row of the series says why', async () => {
    const labels = {
      'world-bank.A': { unit: 'deaths' },
      'world-bank.B': { unit: 'deaths' },
      'world-bank.NY.GDP.MKTP.KD.ZG': { unit: 'annual %' },
    };
    const near = { ...far, p95: 1 };
    const deviations = { 'world-bank.A': far, 'world-bank.B': near, 'world-bank.NY.GDP.MKTP.KD.ZG': far };
    expect(await find(labels, deviations)).toMatchObject([
      { kind: 'aggregate_deviates', indicator: 'world-bank.A', extent: 2.5 },
    ]);
  });
});
