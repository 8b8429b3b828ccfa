/** `twins.json`: compared with a plain recomputation from the figures, and silent about what may not be exported. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type IndicatorTwin, indicatorTwin } from '../../../data/schema/records.ts';
import { additionFile } from '../../../data/schema/snapshot.ts';
import { SEED } from '../../environment.ts';
import { readCatalogue, readKept } from '../../shown-snapshot.ts';
import { type Cell, cells, World } from '../world.ts';

const PROVIDERS = ['atlas', 'beacon', 'gazette'] as const;
type Provider = (typeof PROVIDERS)[number];
/** In thousands at the beacon. */
const FACTOR: Record<Provider, number> = { atlas: 1, beacon: 1000, gazette: 1 };
const FIRST_FORECAST = 2018;

const [factors = []] = fc.sample(
  fc.array(fc.constantFrom(-1, 0, 0.5, 0.9, 1, 1, 1.02, 3), { minLength: 200, maxLength: 200 }),
  { seed: SEED ?? 16, numRuns: 1 },
);
const published: Record<Provider, Cell[]> = {
  atlas: cells(20, (place, year) => 1000 * (place + year)),
  beacon: cells(20, (place, year) => (place + year) * (factors[place * 20 + year] ?? 1)).slice(0, 150),
  gazette: cells(20, (place, year) => 1000 * (place + year) + 7),
};

const world = await World.use({ atlas: {}, beacon: {}, gazette: { access_tier: 'display' } });
await world.list('concepts', `energy,Energy use,energy,false,beacon.use,${FIRST_FORECAST}`);
await world.list(
  'concept-series',
  'energy,atlas.use,,,',
  'energy,gazette.use,,figures,An older edition.',
  'energy,beacon.use,1000,,',
);
for (const provider of PROVIDERS) {
  await world.publish(provider, {
    use: { name: 'Energy use', unit: 'kWh', cells: published[provider] },
    other: { name: 'Other', cells: cells(3) },
  });
  await world.ingest(provider);
}
await world.build();
const shown = await world.served();
const lists = await Promise.all(
  PROVIDERS.map((provider) => readKept(shown, additionFile('twins', provider))),
);
const twins: Record<string, IndicatorTwin[]> = Object.assign({}, ...lists);
const { indicators } = await readCatalogue(shown);
const traits = Object.fromEntries(indicators.map((indexed) => [indexed.record.id, indexed.traits]));

const twinOf = (own: Provider, other: Provider): IndicatorTwin => {
  const found = twins[`${own}.use`]?.find(({ id }) => id === `${other}.use`);
  return indicatorTwin.parse(found);
};

/** Observed values by country and year. */
const observed = (provider: Provider): Map<string, number> =>
  new Map(
    published[provider]
      .filter(([, year]) => Number(year) < FIRST_FORECAST)
      .map(([place, year, value]) => [`${place.trim().toUpperCase()} ${year}`, Number(value)]),
  );

describe('twins', () => {
  it('are the other series of the concept, the preferred one first, and of nothing else', () => {
    const ids = Object.fromEntries(
      Object.entries(twins).map(([id, list]) => [id, list.map((one) => one.id)]),
    );
    expect(ids).toEqual({
      'atlas.use': ['beacon.use', 'gazette.use'],
      'beacon.use': ['atlas.use', 'gazette.use'],
      'gazette.use': ['beacon.use', 'atlas.use'],
    });
  });

  it('are of one concept in the index of the catalogue, where every other series is alone', () => {
    const concepts = Object.entries(traits).map(([id, own]) => [id, own?.concept]);
    expect(concepts.toSorted()).toEqual(
      PROVIDERS.flatMap((provider) => [
        [`${provider}.other`, null],
        [`${provider}.use`, 'energy'],
      ]),
    );
  });

  it('tell how a value becomes one of the indicator', () => {
    expect(twinOf('atlas', 'beacon').factor).toBe(1000);
    expect(twinOf('beacon', 'atlas').factor).toBe(0.001);
    expect(twinOf('atlas', 'gazette').factor).toBe(1);
  });

  it.each([
    ['atlas', 'beacon'],
    ['beacon', 'atlas'],
  ] as const)('%s and %s: equal what a plain recomputation gives', (own, other) => {
    const [ours, theirs] = [observed(own), observed(other)];
    const common = [...ours].flatMap(([at, value]) => {
      const twin = theirs.get(at);
      if (twin === undefined) return [];
      const [x, y] = [value * FACTOR[own], twin * FACTOR[other]];
      const difference = x === y ? 0 : Math.abs(x - y) / Math.max(Math.abs(x), Math.abs(y));
      const [country = '', year] = at.split(' ');
      return [
        {
          difference,
          iso3: country === 'KOS' ? 'XKX' : country,
          year: Number(year),
          value,
          twin_value: twin,
        },
      ];
    });
    const sizes = common.map(({ difference }) => difference).toSorted((a, b) => a - b);
    const middle = (at: number): number => sizes[Math.floor(at)] ?? Number.NaN;
    const median = (middle((sizes.length - 1) / 2) + middle(sizes.length / 2)) / 2;
    const [largest] = common.toSorted(
      (a, b) =>
        b.difference - a.difference || (a.iso3 < b.iso3 ? -1 : a.iso3 > b.iso3 ? 1 : 0) || a.year - b.year,
    );
    expect(twinOf(own, other)).toEqual({
      id: `${other}.use`,
      name: 'Energy use',
      unit: 'kWh',
      provider: other,
      licence: 'CC BY 4.0',
      preferred: other === 'beacon',
      factor: FACTOR[other] / FACTOR[own],
      yr_min: 2000,
      yr_max: 2019,
      common_countries: new Set(common.map(({ iso3 }) => iso3)).size,
      common_years: new Set(common.map(({ year }) => year)).size,
      difference: { median: expect.closeTo(median, 12), largest },
      deviations: [],
    });
  });

  it('tell no figure where one of the two is display-only, and why it deviates', () => {
    for (const [own, other] of [
      ['atlas', 'gazette'],
      ['gazette', 'atlas'],
    ] as const) {
      const { difference, common_countries, deviations } = twinOf(own, other);
      expect(difference).toBeNull();
      expect(common_countries).toBe(10);
      expect(deviations).toEqual([
        { indicator: 'gazette.use', deviates: ['figures'], reason: 'An older edition.' },
      ]);
    }
  });
});

it('a series of a concept takes topic, direction, projected rule and the preferred series from it, and is related to its twins', async () => {
  for (const provider of PROVIDERS) {
    const { data } = (await world.body(`routes/indicators/${provider}.use.json`)) as {
      data: { coverage: object; related: { id: string; relation: string }[] };
    };
    expect(data).toMatchObject({
      topic: 'energy',
      higher_is_better: false,
      preferred: provider === 'beacon',
      coverage: { latest_year: FIRST_FORECAST - 1, yr_max: 2019 },
    });
    const others = PROVIDERS.filter((one) => one !== provider).map((one) => `${one}.use`);
    const same = data.related.filter(({ relation }) => relation === 'same_concept').map(({ id }) => id);
    expect(same.toSorted()).toEqual(others.toSorted());
  }
});
