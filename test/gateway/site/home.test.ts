/** What the home page tells is true of the API's rows, and told only of series that nobody doubts. */
import { expect, test } from 'vitest';
import { useDirectory } from '../../after-tests.ts';
import { COUNTRIES, type FixtureIndicator } from '../fixture-data.ts';
import { publishFixture } from '../fixture-snapshot.ts';
import { linksOf, sectionOf } from './page-text.ts';
import { testService } from './test-service.ts';
import { checkHome } from './told-findings.ts';

const YEARS = Array.from({ length: 36 }, (_, at) => 1985 + at);

/** @param figureAt by the place of the country by code, and years since the first */
const told = (
  slug: string,
  figureAt: (place: number, at: number) => number,
  more: Partial<FixtureIndicator> = {},
): FixtureIndicator => ({
  id: `alpha.${slug}`,
  name: slug,
  topic: slug,
  unit: '%',
  higher_is_better: true,
  featured: true,
  measured: { measure: 'rate' },
  rows: COUNTRIES.flatMap(({ iso3 }, place) =>
    YEARS.map((year, at) => ({ iso3, year, value: figureAt(place, at) })),
  ),
  ...more,
});

/** Doubles every ten years, in one country thrice as fast: more than any series that may be told. */
const steep = (place: number, at: number): number => 10 * 2 ** ((at * (place === 3 ? 1.6 : 1)) / 10);
const DOUBTED = ['trade', 'energy', 'environment', 'economy', 'technology', 'agriculture', 'governance'];

const INDICATORS: FixtureIndicator[] = [
  // Afghanistan passes Åland in 2016; all others are far above both, and multiply in no year.
  told('population', (place, at) => (place === 1 ? 561 : 500 + place * 1_000 + 2 * at), {
    measured: { measure: 'count', aggregate: 'sum' },
  }),
  told('health', (place, at) => 90 - place - at * (place === 6 ? 2 : 1), { higher_is_better: false }),
  told('education', (place, at) => 20 + place + (place === 4 ? at * 1.5 : place === 2 ? 9 - at / 4 : at)),
  told('labour', (place, at) => (place === 0 ? 40 + (at % 3) : 30 + at / 10)),
  told('trade', steep),
  told('energy', steep),
  told('environment', steep),
  told('economy', steep, { unit: 'current US$' }),
  told('technology', steep, { access_tier: 'display' }),
  told('agriculture', steep, { featured: false }),
  told('governance', steep, { no_rank: true }),
];

const finding = {
  id: '00112233445566aa',
  kind: 'share_out_of_range',
  severity: 'error',
  indicator: 'alpha.energy',
  other: null,
  countries: [],
  years: null,
  message: 'Doubted.',
  decision: null,
  reason: null,
  first_seen: '2026-11-20T02:00:00+00:00',
};
const twin = {
  id: 'alpha.trade',
  name: 'trade',
  unit: '%',
  provider: 'alpha',
  licence: 'CC BY 4.0',
  preferred: true,
  factor: 1,
  yr_min: 1985,
  yr_max: 2020,
  common_countries: 9,
  common_years: 9,
  deviations: [],
  difference: { median: 0.2, largest: { difference: 1, iso3: 'KEN', year: 2001, value: 80, twin_value: 40 } },
};

const root = await useDirectory();
await publishFixture(root, {
  indicators: INDICATORS,
  added: {
    breaks: { 'alpha.trade': [{ kind: 'level_break', iso3: 'KEN', year: 1990 }] },
    quality: { 'alpha.energy': [finding] },
    twins: { 'alpha.environment': [twin] },
  },
});
const service = testService({ snapshots: root });
const home = async () => (await service.get('/')).text;

test('tells four findings, one of each kind, whose sentences are true of the rows of the API', async () => {
  const ask = async (path: string) => (await service.buy(path)).json;
  const kinds = await checkHome(ask, await home(), new Map());
  expect(kinds).toEqual(['crossing', 'shared', 'change', 'record']);
});

test('tells nothing of series with doubts, breaks, twins that differ, money of the day, or closed terms', async () => {
  const links = linksOf(sectionOf(await home(), 'told')).join();
  for (const slug of DOUBTED) expect(links).not.toContain(`alpha.${slug}`);
});

test('leads to the places that it names', async () => {
  const section = sectionOf(await home(), 'told');
  const [first = ''] = linksOf(section);
  expect(first).toBe('/indicators/alpha.population?countries=AFG,ALA');
  const { text } = await service.get(first);
  expect(linksOf(sectionOf(text, 'lines'))).toEqual(
    expect.arrayContaining(['/countries/AFG', '/countries/ALA']),
  );
});
