/** Statistics of series against the published figures, computed in another way; and which are taken over from a snapshot. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import type { PlannedIndicator } from '../../../build/editions/plan/plan-snapshot.ts';
import { prepareTables } from '../../../build/editions/tables/materialise.ts';
import { collectStatistics } from '../../../build/editions/tables/series-statistics.ts';
import { DuckSession } from '../../../build/runtime/duckdb.ts';
import type { SeriesStatistics } from '../../../data/schema/quality.ts';
import { observationsFile, STATISTICS } from '../../../data/schema/snapshot.ts';
import { query, readObservations } from '../parquet-readers.ts';
import { type Cell, SERVED, type Series, World } from '../world.ts';

let world: World;
beforeEach(async () => {
  world = await World.ofTest({ atlas: { indicators: { forecast: { projected_from: 2003 } } } });
});

/** Figures of all countries over ten years, by a fixed sequence of pseudo-random numbers. */
function figures(seed: number, value: (random: () => number) => number | ''): Series {
  let state = seed;
  const random = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
  return {
    cells: SERVED.flatMap((place) =>
      Array.from({ length: 10 }, (_, at): Cell => [place, 2000 + at, value(random)]).filter(
        () => random() > 0.2,
      ),
    ),
  };
}

const SERIES: Record<string, Series> = {
  share: figures(1, (random) => 130 * random()),
  signed: figures(2, (random) => random() - 0.5),
  whole: figures(3, (random) => Math.floor(3 * random())),
  gaps: figures(4, (random) => (random() > 0.4 ? 1e6 * random() : '')),
  forecast: figures(5, (random) => 0.001 + random()),
  empty: { cells: [['FRA', 2000, '']] },
  single: { cells: [['FRA', 2000, -7.5]] },
  extreme: { cells: [1e-310, 3, 1e101, 0].map((value, at): Cell => ['FRA', 2000 + at, value]) },
};

async function statistics(): Promise<Record<string, SeriesStatistics>> {
  const { directory } = await world.served();
  return JSON.parse(await readFile(join(directory, STATISTICS), 'utf8')).series;
}

interface Row {
  iso3: string;
  year: number;
  value: number | null;
  projected: boolean;
}

function quantile(sorted: readonly number[], share: number): number | null {
  const at = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return low === undefined || high === undefined ? null : low + (at - Math.floor(at)) * (high - low);
}

/** The greatest ratio of a value to that of the year before, over countries. */
function jumpOf(rows: readonly Row[]): number | null {
  const byPlaceAndYear = new Map(rows.map(({ iso3, year, value }) => [`${iso3}${year}`, value]));
  const ratios = rows.flatMap(({ iso3, year, value }) => {
    const ratio = (value ?? 0) / (byPlaceAndYear.get(`${iso3}${year - 1}`) ?? 0);
    return ratio > 0 && Number.isFinite(ratio) ? [Math.max(ratio, 1 / ratio)] : [];
  });
  return ratios.length === 0 ? null : Math.max(...ratios);
}

const near = (value: number | null): unknown => (value === null ? null : expect.closeTo(value, 9));

async function expected(id: string) {
  const { directory } = await world.served();
  const rows = (await readObservations(join(directory, observationsFile(id)))) as unknown as Row[];
  const known = rows.filter(({ value }) => value !== null);
  const values = known.map(({ value }) => value ?? 0).sort((a, b) => a - b);
  const years = known.map(({ year }) => year);
  const observed = known.filter(({ projected }) => !projected);
  const forecast = known.filter(({ projected }) => projected).map(({ year }) => year);
  const latest = observed.length === 0 ? null : Math.max(...observed.map(({ year }) => year));
  const count = (test: (value: number) => boolean): number => values.filter(test).length;
  const ratio = jumpOf(known);
  const extreme = count((value) => Math.abs(value) > 1e100 || (value !== 0 && Math.abs(value) < 1e-100));
  return {
    rows: rows.length,
    values: values.length,
    nulls: rows.length - values.length,
    projected: rows.filter(({ projected }) => projected).length,
    countries: new Set(known.map(({ iso3 }) => iso3)).size,
    min: near(values[0] ?? null),
    q1: near(extreme ? null : quantile(values, 0.25)),
    median: near(extreme ? null : quantile(values, 0.5)),
    q3: near(extreme ? null : quantile(values, 0.75)),
    extreme,
    max: near(values.at(-1) ?? null),
    negative: count((value) => value < 0),
    zero: count((value) => value === 0),
    above_1: count((value) => value > 1),
    above_100: count((value) => value > 100),
    whole_share: near(values.length === 0 ? null : count(Number.isInteger) / values.length),
    first_year: years.length === 0 ? null : Math.min(...years),
    last_year: years.length === 0 ? null : Math.max(...years),
    latest_year: latest,
    latest_countries: observed.filter(({ year }) => year === latest).length,
    newest_projected_year: forecast.length === 0 ? null : Math.max(...forecast),
    jump: ratio === null || extreme ? null : expect.objectContaining({ ratio: expect.closeTo(ratio, 6) }),
  };
}

async function expectAll(slugs: readonly string[]): Promise<void> {
  const found = await statistics();
  expect(Object.keys(found).sort()).toEqual(slugs.map((slug) => `atlas.${slug}`).sort());
  for (const [id, facts] of Object.entries(found)) expect({ id, ...facts }).toMatchObject(await expected(id));
}

async function night(series: Record<string, Series>): Promise<void> {
  await world.ingestSeries(series);
  await world.build();
}

it('are those of the published figures, in a first snapshot and in one with a changed series', async () => {
  await night(SERIES);
  await expectAll(Object.keys(SERIES));
  world.tomorrow();
  await night({
    ...SERIES,
    share: figures(6, (random) => 90 * random()),
    more: SERIES.signed ?? { cells: [] },
  });
  await expectAll([...Object.keys(SERIES), 'more']);
  const { 'atlas.signed': signed, 'atlas.more': more, 'atlas.share': share } = await statistics();
  expect(more?.digest).toBe(signed?.digest);
  expect(share?.digest).not.toBe(signed?.digest);
});

it('are taken over with a file that did not change, if they were computed in the same way', async () => {
  await night(SERIES);
  const { directory } = await world.served();
  const file = join(directory, STATISTICS);
  const stored = JSON.parse(await readFile(file, 'utf8'));
  stored.series['atlas.single'].max = 4321;
  await writeFile(file, JSON.stringify(stored));
  await buildNews('Renamed');
  expect((await statistics())['atlas.single']?.max).toBe(4321);
  const next = await world.served();
  await writeFile(join(next.directory, STATISTICS), JSON.stringify({ ...stored, version: '0' }));
  await buildNews('Renamed again');
  expect((await statistics())['atlas.single']?.max).toBe(-7.5);
});

/** Publishes a snapshot in which no figure changed. */
async function buildNews(name: string): Promise<void> {
  world.tomorrow();
  await world.define('atlas', { indicators: { signed: { name } } });
  await world.build();
}

it('count rows by status, and fail for single series only', async () => {
  const directory = join(world.directory, 'figures');
  await mkdir(join(directory, 'observations'), { recursive: true });
  const statuses = ['estimated', 'estimated', 'break', null];
  const rows = statuses.map(
    (status, at) => `('FRA', ${2000 + at}, 1::DOUBLE, false, ${status ? `'${status}'` : 'NULL'})`,
  );
  await query(`COPY (SELECT * FROM (VALUES ${rows.join()}) AS rows (iso3, year, value, projected, status))
    TO '${join(directory, observationsFile('atlas.one'))}' (FORMAT parquet)`);
  await writeFile(join(directory, observationsFile('atlas.two')), 'no Parquet');
  const common = { lake: '', lakeRows: 4, projectedFrom: 9999 };
  const record = { higher_is_better: null, no_rank: false, topic: 'economy' };
  const indicators = ['one', 'two'].map((slug, number) => ({
    ...common,
    id: `atlas.${slug}`,
    slug,
    number,
    record,
  })) as PlannedIndicator[];
  const duck = await DuckSession.open({ scratch: join(world.directory, 'scratch') });
  await prepareTables(duck, ['FRA'], indicators);
  const { statistics: found, failed } = await collectStatistics(duck, directory, indicators, new Map());
  await duck.close();
  expect([...found.keys()]).toEqual(['atlas.one']);
  expect(found.get('atlas.one')?.statuses).toEqual({ estimated: 2, break: 1 });
  expect([...failed]).toEqual([['atlas.two', expect.stringContaining('Parquet')]]);
});
