/**
 * Series that a provider may lawfully publish and nobody expects: figures at the ends of what a number can hold, all
 * equal, alone, of alternating signs, of one year or three hundred, under names of any characters and length.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { type Logger, pino } from 'pino';
import { acceptRun } from '../../build/ingest/accept-run.ts';
import { QualityReports } from '../../build/quality/findings.ts';
import { DuckSession } from '../../build/runtime/duckdb.ts';
import type { QualityFinding } from '../../data/schema/quality.ts';
import { type Cell, DATA, type Series, World } from './world.ts';

const PLACES =
  `AGO ALB ARG AUS AUT BGD BOL BRA CAN CHE CHL CHN CIV CMR COL CZE DEU DNK DZA ECU EGY ESP ETH FRA GBR GHA GRC HUN
  IDN IND IRN IRQ ITA JPN KAZ KEN MAR MEX MOZ NGA PAK PER PHL POL THA TUR UKR USA`.split(/\s+/);
const NEWEST = 2024;

/** How the figure of a place and year comes about; `draw` is uniform in [0, 1). */
type Shape = (draw: () => number, place: number, year: number) => number;

const ENDS = [
  ...[Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE, -Number.MIN_VALUE, 1e-310, -0, 0, 1, 100],
  ...[2 ** 53 + 2, 1e300, -1e300, 1e154, 1e-162, 0.1 + 0.2],
];
const pick = <Item>(items: readonly Item[], draw: () => number): Item =>
  items[Math.floor(draw() * items.length)] as Item;
const steady = (place: number, year: number): number => (50 + place) * 1.01 ** (year % 40);

const SHAPES: Readonly<Record<string, Shape>> = {
  ends: (draw) => pick(ENDS, draw),
  'least and greatest': (_, place, year) => ((place + year) % 2 === 0 ? Number.MIN_VALUE : Number.MAX_VALUE),
  'greatest of both signs': (_, place, year) => ((place + year) % 2 === 0 ? -1 : 1) * Number.MAX_VALUE,
  greatest: () => Number.MAX_VALUE,
  denormal: (draw) => Number.MIN_VALUE * Math.ceil(draw() * 9),
  'huge range': (draw) => Number(`${1 + draw()}e${Math.floor(draw() * 630) - 323}`),
  'huge range of both signs': (draw) => Number(`${4 * draw() - 2}e${Math.floor(draw() * 620) - 320}`),
  'all equal': () => 7.3,
  'all zero': () => 0,
  'zero of both signs': (_, place) => (place % 2 === 0 ? 0 : -0),
  'alternating signs': (_, place, year) => ((place + year) % 2 === 0 ? -1 : 1) * steady(place, year),
  'one infinitesimal': (_, place, year) => (place === 3 ? 5e-324 : steady(place, year)),
  'one gigantic': (_, place, year) => (place === 3 && year === 2010 ? 1.7e308 : steady(place, year)),
  'one negative': (_, place, year) => (place === 3 && year === 2010 ? -1e308 : steady(place, year)),
  'a step of all powers': (_, place, year) => (year < 2000 ? 1e-300 : 1e300) * (1 + place),
  plain: (_, place, year) => steady(place, year),
};

const UNITS = [
  ...['', '%', 'people', 'current US$', 'constant 2015 US$', 'current international $', 'index from 0 to 1'],
  ...[
    'deaths per 1,000 live births',
    'years',
    'kg',
    'national currency',
    '2010 = 100',
    '% of GDP',
    'thousands of people',
  ],
];
const NAMES = [
  ...[
    'Population, total',
    'GDP per person',
    'Deaths',
    'Life expectancy',
    'Infant mortality',
    'Literacy rate',
  ],
  ...[
    '<b>"Bold" & \'more\'</b>',
    '={1+1}',
    '../../etc/passwd',
    'toString',
    '__proto__',
    '𝔘𝔫𝔦𝔠𝔬𝔡𝔢',
    'עִבְרִית‏ العربية',
    'é'.repeat(4000),
    'per '.repeat(2000),
    'number of deaths '.repeat(1000),
  ],
];

const text = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...NAMES) },
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.string({ unit: 'binary', maxLength: 60 }),
);

interface HostileSeries extends Series {
  shape: string;
  figure(place: number, year: number): number;
}

const hostile = (shape: string): fc.Arbitrary<HostileSeries> =>
  fc
    .record({
      name: text,
      unit: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...UNITS) }, text),
      tags: fc.oneof(fc.constant(''), text),
      places: fc.constantFrom(1, 2, PLACES.length),
      years: fc.constantFrom(1, 2, 30, 30, 30, 300),
      seed: fc.nat(),
    })
    .map(({ places, years, seed, ...labels }) => {
      const draw = uniform(seed);
      const figure = (place: number, year: number): number => SHAPES[shape]?.(draw, place, year) ?? 0;
      const cells = PLACES.slice(0, places).flatMap((place, at) =>
        Array.from({ length: years }, (_, back): Cell => {
          const year = NEWEST - years + 1 + back;
          return [place, year, written(figure(at, year))];
        }),
      );
      return { ...labels, shape, figure, cells };
    });

/** As upstreams write numbers: all digits, and the sign of zero. */
const written = (value: number): string => (Object.is(value, -0) ? '-0' : String(value));

/** Beyond what checks compute with. */
export const isExtreme = (value: number): boolean =>
  Math.abs(value) > 1e100 || (value !== 0 && Math.abs(value) < 1e-100);

/** Uniform in [0, 1), the same for one seed. */
function uniform(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Series by slug. */
export type HostileNight = Record<string, HostileSeries>;

/** One series of each shape. */
const hostileNight: fc.Arbitrary<HostileNight> = fc
  .tuple(...Object.keys(SHAPES).map((shape) => hostile(shape)))
  .map((all) => Object.fromEntries(all.map((one, at) => [`series-${at}`, one])));

/** Values with bounds on both sides or on one, as a package of one wide table; by slug `<slug>_lower` and `<slug>_upper`. */
function boundedFiles(night: HostileNight): Record<string, string> {
  const slugs = Object.keys(night).map((slug) => `${slug}-bounded`);
  const columns = slugs.flatMap((slug) => [slug, `${slug}_lower`, `${slug}_upper`]);
  const values = Object.values(night).map(({ figure }) => figure);
  const rows = PLACES.flatMap((place, at) =>
    [NEWEST - 1, NEWEST].map((year) => [
      ...[place, year],
      ...values.flatMap((figure) => {
        const [low = 0, value = 0, high = 0] = [0, 1, 2]
          .map((more) => figure(at + more, year))
          .sort((a, b) => a - b);
        return [value, low, high].map(written);
      }),
    ]),
  );
  const fields = ['Country Code', 'Year', ...columns].map((name) => ({ name, type: 'any' }));
  return {
    'datapackage.json': JSON.stringify({
      name: 'bounded',
      resources: [{ path: 'data.csv', schema: { fields } }],
    }),
    'data.csv': [['Country Code', 'Year', ...columns], ...rows].map((row) => row.join()).join('\n'),
  };
}

/** By how much the series of the one concept differ in their units. */
const FACTORS = [1, 1_000_000_000_000, 0.00001, 1000, 0.001, 1_000_000];

/** A world with all countries, in which the provider `plain` is harmless. */
async function makeWorld(): Promise<World> {
  const world = await World.create({
    hostile: {},
    bounded: { connector: 'frictionless', ci_level: 0.95 },
    plain: {},
  });
  await world.write('data/countries.csv', await readFile(join(DATA, 'countries.csv'), 'utf8'));
  const members = FACTORS.map((factor, at) => `one,hostile.series-${at},${factor},,`);
  await world.list('concepts', 'one,One,economy,none,hostile.series-0,');
  await world.list('concept-series', ...members);
  const cells = PLACES.flatMap((place, at) =>
    Array.from({ length: 30 }, (_, back): Cell => [place, NEWEST - back, steady(at, back)]),
  );
  await world.publish('plain', { harmless: { name: 'A harmless series', unit: 'kg', cells } });
  return world;
}

/** Publishes the series of a night upstream and builds; what is held is accepted. */
async function buildNight(world: World, night: HostileNight, log: Logger): Promise<void> {
  await world.publish('hostile', night);
  for (const [name, content] of Object.entries(boundedFiles(night)))
    await world.write(`mirror/bounded/${name}`, content);
  for (const provider of ['hostile', 'bounded', 'plain']) {
    const { status, run_id } = await world.ingest(provider);
    if (status === 'suspicious') await acceptRun(await world.dependencies(), provider, run_id);
  }
  await world.build({ log });
  world.tomorrow();
}

export interface HostileNights {
  world: World;
  /** Of the last night, under `hostile`; under `bounded` they have bounds, too. */
  series: HostileNight;
  /** What the builds logged as errors. */
  errors: string[];
  /** Of the last night. */
  findings(): Promise<QualityFinding[]>;
}

/** Builds so many nights of series drawn by the seed. */
export async function hostileNights(seed: number, count: number): Promise<HostileNights> {
  const world = await makeWorld();
  const errors: string[] = [];
  const log = pino({ level: 'error' }, { write: (line: string) => errors.push(line) });
  let series: HostileNight = {};
  for (series of fc.sample(hostileNight, { seed, numRuns: count })) await buildNight(world, series, log);
  return {
    world,
    series,
    errors,
    async findings() {
      const duck = await DuckSession.open({ scratch: join(world.directory, 'scratch') });
      const reports = new QualityReports(world.settings.LAKE_DIR);
      const nights = await reports.nights();
      return reports.read(duck, nights.at(-1) ?? '').finally(() => duck.close());
    },
  };
}
