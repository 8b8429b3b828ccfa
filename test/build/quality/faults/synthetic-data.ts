/**
 * Good data of two providers that publish the same statistics, as the World Bank and Gapminder do: 48 countries of
 * different size and wealth, 30 years, trends and small noise. Figures are made up; names and units are of the kind that
 * real providers use. A third provider is small, so that it can lose countries.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Cell, DATA, type Series, World } from '../../world.ts';
import { type Random, seededRandom } from './random.ts';

/** How the figures of a statistic come about. */
type Shape = 'share' | 'rate' | 'count' | 'money' | 'perPerson' | 'years' | 'index';

interface Statistic {
  slug: string;
  name: string;
  unit: string;
  topic: string;
  better: 'true' | 'false' | 'none';
  shape: Shape;
  /** Of the whole: a share of the population, deaths per person, dollars per person. */
  level: number;
  /** Has years to 2045, of which those after 2024 are forecasts. */
  isProjected?: boolean;
}

const statistic = (
  slug: string,
  name: string,
  unit: string,
  topic: string,
  better: Statistic['better'],
  shape: Shape,
  level: number,
): Statistic => ({ slug, name, unit, topic, better, shape, level });

const GROUPS = [
  ['', '', 'population'],
  ['-female', ', female', 'female population'],
  ['-male', ', male', 'male population'],
] as const;

/** Shares of a population group, in three groups each. */
const SHARES = [
  ['literacy', 'Literacy rate', 'education', 'true', 0.85],
  ['electricity', 'Access to electricity', 'energy', 'true', 0.8],
  ['internet', 'Individuals using the Internet', 'technology', 'true', 0.5],
  ['smoking', 'Prevalence of smoking', 'health', 'false', 0.25],
  ['participation', 'Labour force participation', 'labour', 'none', 0.6],
  ['sanitation', 'Use of basic sanitation', 'health', 'true', 0.75],
  ['urban', 'Urban residents', 'population', 'none', 0.55],
  ['poverty', 'People below the national poverty line', 'poverty', 'false', 0.2],
] as const;

/** Slug, name, unit, topic, whether higher is better, shape and level of each. */
const OTHERS: readonly Statistic[] = `
  population | Population, total | people | population | none | count | 1
  urban-total | Urban population, number | people | population | none | count | 0.5
  births | Births, number | births | population | none | count | 0.02
  deaths | Deaths, number | deaths | health | false | count | 0.01
  tuberculosis-cases | Tuberculosis, new cases | new cases | health | false | count | 0.001
  road-deaths | Road deaths, number | deaths | health | false | count | 0.0002
  out-of-school | Children out of school | children | education | false | count | 0.01
  infant | Mortality rate, infant | deaths per 1,000 live births | health | false | rate | 25
  under-five | Mortality rate, under five | deaths per 1,000 live births | health | false | rate | 35
  maternal | Maternal mortality ratio | deaths per 100,000 live births | health | false | rate | 150
  suicide | Suicide mortality rate | deaths per 100,000 people | health | false | rate | 12
  tuberculosis-incidence | Incidence of tuberculosis | new cases per 100,000 people | health | false | rate | 120
  life | Life expectancy at birth, total | years | health | true | years | 70
  life-female | Life expectancy at birth, female | years | health | true | years | 73
  schooling | Mean years of schooling | years | education | true | years | 8
  gdp | GDP | current US$ | economy | none | money | 1
  gni | GNI | current US$ | economy | none | money | 0.95
  gdp-ppp | GDP, PPP | current international $ | economy | none | money | 2
  gdp-constant | GDP at constant prices | constant 2015 US$ | economy | none | money | 0.9
  imports | Imports, value | current US$ | trade | none | money | 0.3
  gdp-pc | GDP per person | current US$ per person | economy | true | perPerson | 1
  gni-ppp-pc | GNI per person, PPP | current international $ per person | economy | true | perPerson | 2
  wage | Average wage at constant prices | constant 2021 US$ per person | labour | true | perPerson | 0.4
  human-development | Human development index | index from 0 to 1 | poverty | true | index | 0.7
`
  .trim()
  .split('\n')
  .map((line) => {
    const [slug = '', name = '', unit = '', topic = '', better, shape, level] = line.trim().split(' | ');
    return statistic(slug, name, unit, topic, better as Statistic['better'], shape as Shape, Number(level));
  });

const STATISTICS: readonly Statistic[] = [
  ...SHARES.flatMap(([slug, name, topic, better, level]) =>
    GROUPS.map(([group, words, whole]) =>
      statistic(slug + group, name + words, `% of ${whole}`, topic, better, 'share', level),
    ),
  ),
  ...OTHERS,
];

const CAUSES = 'cancer diabetes drowning falls fires malaria measles pneumonia poisoning stroke'.split(' ');

/** Published by the first provider only. */
const ALONE: readonly Statistic[] = CAUSES.flatMap((cause, at) => {
  const share = 0.0001 * (1 + at) ** 1.5;
  const [one, two] = [`Deaths from ${cause}`, `Mortality rate from ${cause}`];
  return [
    statistic(`${cause}-deaths`, one, 'deaths', 'health', 'false', 'count', share),
    statistic(`${cause}-rate`, two, 'deaths per 100,000 people', 'health', 'false', 'rate', 1e5 * share),
  ];
});

/** Also published with forecasts. */
const PROJECTED: readonly Statistic[] = STATISTICS.filter(
  ({ shape, unit }) => shape === 'years' || (shape === 'count' && unit !== 'children'),
).map((one) => ({ ...one, slug: `${one.slug}-outlook`, name: `${one.name}, outlook`, isProjected: true }));

const COUNTRIES =
  'AGO ALB ARG AUS AUT BGD BOL BRA CAN CHE CHL CHN CIV CMR COL CZE DEU DNK DZA ECU EGY ESP ETH FRA GBR GHA GRC HUN IDN IND IRN IRQ ITA JPN KAZ KEN MAR MEX MOZ NGA PAK PER PHL POL THA TUR UKR USA'.split(
    ' ',
  );
const FIRST_YEAR = 1995;
const LAST_YEAR = 2024;
const LAST_FORECAST = 2045;

/** What distinguishes countries, whatever is measured. */
interface Nature {
  iso3: string;
  people: number;
  /** From 0, poor, to 1, rich. */
  wealth: number;
}

const natures = (random: Random): Nature[] =>
  COUNTRIES.map((iso3) => ({ iso3, people: 10 ** (6.5 + 2.6 * random.next()), wealth: random.next() }));

const logistic = (x: number): number => 1 / (1 + Math.exp(-x));

/** The true figures of a statistic: smooth in time, ordered by wealth, with a country's own deviation. */
function figuresOf(
  { shape, level, better, isProjected = false }: Statistic,
  all: readonly Nature[],
  random: Random,
): Cell[] {
  const sign = better === 'false' ? -1 : 1;
  return all.flatMap(({ iso3, people, wealth }) => {
    const own = 0.6 * (random.next() - 0.5);
    const pace = 0.01 + 0.02 * random.next();
    const last = isProjected ? LAST_FORECAST : LAST_YEAR;
    return Array.from({ length: last - FIRST_YEAR + 1 }, (_, year): Cell => {
      const progress = sign * (3 * (wealth - 0.5) + own + pace * (year - 15));
      const grown = people * 1.012 ** year * (1 + own / 3);
      const income = 800 * 60 ** wealth * (1.02 + pace / 4) ** year * (1 + own / 3);
      const noise = 1 + 0.006 * (random.next() - 0.5);
      const value: Record<Shape, number> = {
        share: 100 * logistic(Math.log(level / (1 - level)) + 0.8 * progress) * noise,
        rate: level * Math.exp(0.8 * progress) * noise,
        count: Math.round(level * grown * noise),
        money: Math.round(level * income * grown * noise),
        perPerson: level * income * noise,
        years: level * (1 + 0.1 * progress) * noise,
        index: logistic(Math.log(level / (1 - level)) + 0.6 * progress) * noise,
      };
      return [iso3, FIRST_YEAR + year, shape === 'share' ? Math.min(100, value.share) : value[shape]];
    });
  });
}

/** Another edition of the same figures: small revisions of some. */
const revised = (cells: readonly Cell[], random: Random): Cell[] =>
  cells.map(([place, year, value]) => [
    place,
    year,
    random.next() < 0.3 ? Number(value) * (1 + 0.002 * (random.next() - 0.5)) : value,
  ]);

const describe = ({ name, unit }: Statistic, cells: Cell[]): Series => ({ name, unit, cells });

const CONCEPT_HEADER = 'id,name,topic,higher_is_better,preferred,projected_from';
const MEMBER_HEADER = 'concept,indicator,factor,deviates,reason';

/** Rows of `data/overlay/<provider>.csv`. */
function overlay(statistics: readonly Statistic[], isFirst: boolean): string {
  const rows = statistics.map(({ slug, name, topic, better, isProjected }, at) => {
    const isFeatured = isFirst && at % 3 === 0;
    return `${slug},${topic},${better},${isFirst},${isFeatured},${isProjected ? LAST_YEAR + 1 : ''},"${name}: as reported by statistical offices."`;
  });
  return `slug,topic,higher_is_better,preferred,featured,projected_from,description\n${rows.join('\n')}\n`;
}

/** Each pair of twins is a concept. */
async function writeConcepts(world: World): Promise<void> {
  const concepts = STATISTICS.map(
    ({ slug, topic, better }) => `${slug},"${slug}",${topic},${better},atlas.${slug},`,
  );
  const members = STATISTICS.flatMap(({ slug }) => [
    `${slug},atlas.${slug},,,`,
    `${slug},gazette.${slug},,,`,
  ]);
  await world.write('data/concepts.csv', `${CONCEPT_HEADER}\n${concepts.join('\n')}\n`);
  await world.write('data/concept-series.csv', `${MEMBER_HEADER}\n${members.join('\n')}\n`);
}

/** Ingests the good data into a world with all countries. */
export async function makeGoodData(seed: number): Promise<World> {
  const world = await World.create({ atlas: {}, gazette: {}, beacon: {} });
  await world.write('data/countries.csv', await readFile(join(DATA, 'countries.csv'), 'utf8'));
  const random = seededRandom(seed);
  const all = natures(random);
  const first = [...STATISTICS, ...PROJECTED, ...ALONE];
  const figures = new Map(first.map((one) => [one.slug, figuresOf(one, all, random)]));
  const series = (
    statistics: readonly Statistic[],
    edition: (cells: Cell[]) => Cell[],
  ): Record<string, Series> =>
    Object.fromEntries(
      statistics.map((one) => [one.slug, describe(one, edition(figures.get(one.slug) ?? []))]),
    );
  await world.publish(
    'atlas',
    series(first, (cells) => cells),
  );
  await world.publish(
    'gazette',
    series(STATISTICS, (cells) => revised(cells, random)),
  );
  const beacon = OTHERS.slice(0, 3).map((one) => ({
    ...one,
    slug: `${one.slug}-survey`,
    name: `${one.name}, survey`,
    level: one.level / 3,
  }));
  for (const one of beacon) figures.set(one.slug, figuresOf(one, all, random));
  await world.publish(
    'beacon',
    series(beacon, (cells) => cells),
  );
  await world.write('data/overlay/atlas.csv', overlay(first, true));
  await world.write('data/overlay/gazette.csv', overlay(STATISTICS, false));
  await world.write('data/overlay/beacon.csv', overlay(beacon, false));
  await writeConcepts(world);
  for (const provider of ['atlas', 'gazette', 'beacon']) await world.ingest(provider);
  return world;
}
