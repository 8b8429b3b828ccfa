import { beforeEach, describe, expect, it } from 'vitest';
import { planSnapshot } from '../../../build/editions/plan/plan-snapshot.ts';
import { verifyPublished } from '../../../build/editions/verify.ts';
import { acceptRun } from '../../../build/ingest/accept-run.ts';
import { loadCurated } from '../../../data/curated/curated.ts';
import type { RunRecord } from '../../../data/schema/lake.ts';
import type { Row } from '../parquet-readers.ts';
import { type Series, World } from '../world.ts';

let world: World;
beforeEach(async () => {
  world = await World.ofTest();
});

const upTo = (last: number, first = 2020, figure = 1): Series => ({
  cells: Array.from({ length: last - first + 1 }, (_, at) => ['FRA', first + at, figure + at]),
});

async function night(series: Record<string, Series>): Promise<RunRecord> {
  world.tomorrow();
  await world.publish('atlas', series);
  return world.ingest('atlas');
}

async function accept({ run_id: id }: RunRecord): Promise<RunRecord> {
  return acceptRun(await world.dependencies(), 'atlas', id);
}

const observations = (id: string): Promise<Row[]> => world.observations(id);
const observedYears = async (id: string) =>
  (await observations(id)).filter(({ projected }) => !projected).map(({ year }) => year);
const coverageOf = async (id: string) =>
  ((await world.body(`routes/indicators/${id}.json`)).data as { coverage: object }).coverage;
const plan = async (currentYear: number) =>
  planSnapshot(
    world.settings.LAKE_DIR,
    await loadCurated(world.settings.CURATED_DIR),
    new Map(),
    currentYear,
  );

describe('a provider whose unflagged years lie ahead of the clock', () => {
  it('is held at its first run, with the series, the years and the settings to make', async () => {
    const record = await night({ births: upTo(2100), deaths: upTo(2027), now: upTo(2026) });
    expect(record).toMatchObject({ status: 'suspicious', base_run: null, newest_year: 2026 });
    expect(record.reason).toBe(
      'Held because of years after 2026 that upstream does not flag as projected: ' +
        'births (2027 to 2100); deaths (2027). ' +
        'Set `projected_from` to the first forecast year, or `future_years` to `projected` or `observed`: ' +
        'for single series in overlay/atlas.csv, for all in providers/atlas.yaml. ' +
        'Accepting the run serves them as projected.',
    );
    expect(await world.lake('atlas').current()).toBeNull();
  });

  it('names some of many series and counts the others', async () => {
    const many = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`s${at}`, upTo(2030)]));
    expect((await night(many)).reason).toContain('s4 (2027 to 2030); and 3 more series. Set');
  });

  it('is projected by the clock once accepted, and not held again for the same years', async () => {
    const accepted = await accept(await night({ births: upTo(2050), now: upTo(2026) }));
    expect(accepted.status).toBe('succeeded');
    await world.build();
    expect(await observedYears('atlas.births')).toEqual([2020, 2021, 2022, 2023, 2024, 2025, 2026]);
    expect(await coverageOf('atlas.births')).toMatchObject({ latest_year: 2026, yr_max: 2050 });
    const { indicators } = await plan(2026);
    const flagged = indicators.map(({ id, flaggedByClock: years }) => [id, years.at(0), years.at(-1)]);
    expect(flagged.sort()).toEqual([
      ['atlas.births', 2027, 2050],
      ['atlas.now', undefined, undefined],
    ]);
    expect(await night({ births: upTo(2050, 2020, 2), now: upTo(2026) })).toMatchObject({
      status: 'succeeded',
    });
    const further = await night({ births: upTo(2060), now: upTo(2027) });
    expect(further.reason).toContain('births (2027 to 2060); now (2027). Set');
  });
});

describe('a rule of the definition', () => {
  const projectedFrom2024 = { indicators: { births: { projected_from: 2024 } } };
  const futureYears = (future_years: string) => ({ rules: [{ slug: '^births$', set: { future_years } }] });
  it.each([
    ['a first forecast year', projectedFrom2024, 2023],
    ['that they are projected', futureYears('projected'), 2026],
    ['that they are observed', futureYears('observed'), 2050],
    ['that those of the provider are observed', { future_years: 'observed' }, 2050],
    [
      'for one series otherwise than for the provider',
      { future_years: 'observed', indicators: { births: { future_years: 'projected' } } },
      2026,
    ],
  ])('says %s', async (_, definition, newest) => {
    await world.define('atlas', definition);
    const record = await night({ births: upTo(2050) });
    expect(record).toMatchObject({ status: 'succeeded', reason: null, newest_year: newest });
    await world.build();
    expect((await observedYears('atlas.births')).at(-1)).toBe(newest);
    expect((await plan(2026)).indicators[0]?.flaggedByClock).toEqual([]);
  });

  it('is a column of the overlay table', async () => {
    await world.write('data/overlay/atlas.csv', 'slug,future_years\nbirths,observed\n');
    expect(await night({ births: upTo(2030) })).toMatchObject({ status: 'succeeded', newest_year: 2030 });
  });

  it('with a first forecast year beyond the clock does not cover the years between', async () => {
    await world.define('atlas', { projected_from: 2040 });
    expect((await night({ births: upTo(2050) })).reason).toContain('births (2027 to 2039). Set');
  });
});

describe('what upstream says', () => {
  const source = { packages: [{ path: 't.csv', slug: 'births' }], place: ['iso3'], values: ['value'] };
  const read = async (settings: object, lines: string[]): Promise<RunRecord> => {
    await world.define('atlas', { connector: 'frictionless', source: { ...source, ...settings } });
    await world.write('mirror/atlas/t.csv', lines.join('\n'));
    return world.ingest('atlas');
  };

  it('as a status of forecast counts as projected, ahead of the clock and before', async () => {
    const record = await read({ status: 'flag' }, [
      'iso3,year,value,flag',
      ...['FRA,2024,1,', 'FRA,2025,2,F', 'FRA,2027,3,Projection', 'FRA,2028,4,ef'],
    ]);
    expect(record).toMatchObject({ status: 'succeeded', newest_year: 2024 });
    await world.build();
    expect((await observations('atlas.births')).map(({ projected, status }) => [projected, status])).toEqual([
      [false, null],
      [true, 'forecast'],
      [true, 'projection'],
      [true, 'estimated, forecast'],
    ]);
  });

  it('of a year that has not begun is not believed when it calls it observed', async () => {
    const lines = ['iso3,year,value,forecast', 'FRA,2026,1,no', 'FRA,2027,2,no'];
    const held = await read({ projected: 'forecast' }, lines);
    expect(held.reason).toContain('births (2027). Set');
    await accept(held);
    await world.build();
    expect(await observedYears('atlas.births')).toEqual([2026]);
  });
});

describe('at the turn of the year', () => {
  const JANUARY = Date.UTC(2027, 0, 5, 12);
  const verify = async () =>
    verifyPublished(world.settings, await loadCurated(world.settings.CURATED_DIR), world.clock);

  it('files whose rows the clock flags are built again, and no others', async () => {
    await world.define('atlas', {
      indicators: { births: { future_years: 'projected' }, people: { projected_from: 2024 } },
    });
    await night({ births: upTo(2050), people: upTo(2050), now: upTo(2026) });
    await world.build();
    expect(await world.build()).toMatchObject({ reused: 3 });
    world.clock = JANUARY;
    expect(await verify()).toMatchObject({ traced: 2, outdated: 1 });
    expect(await world.ingest('atlas')).toMatchObject({ status: 'unchanged', newest_year: 2027 });
    expect(await world.build()).toMatchObject({ reused: 2 });
    expect((await observedYears('atlas.births')).at(-1)).toBe(2027);
    expect((await observedYears('atlas.people')).at(-1)).toBe(2023);
    expect(await verify()).toMatchObject({ traced: 3, outdated: 0 });
  });

  it('the year is that of UTC', async () => {
    world.clock = Date.UTC(2026, 11, 31, 23, 59) - 86_400_000;
    expect((await night({ births: upTo(2027) })).status).toBe('suspicious');
    world.clock = Date.UTC(2027, 0, 1) - 86_400_000;
    expect((await night({ births: upTo(2027, 2020, 2) })).status).toBe('succeeded');
  });
});
