/** Findings on runs: places lost, runs held or failed, series that could not be read. */
import { beforeEach, expect, it } from 'vitest';
import { acceptRun } from '../../../build/ingest/accept-run.ts';
import { runReport } from '../../../build/ingest/run-report.ts';
import type { RunRecord } from '../../../data/schema/lake.ts';
import type { QualityFinding } from '../../../data/schema/quality.ts';
import { type Cell, makeSeries, type Series, World } from '../world.ts';

const TEN = 'AFG ALB BRA CHN DEU FRA IND JPN KEN USA'.split(' ');

let world: World;
beforeEach(async () => {
  world = await World.ofTest({ atlas: { gates: { max_row_drop: 1, max_country_drop: 1 } } });
});

const series = (places: readonly string[], value = 1): Series => ({
  name: 'Cattle',
  unit: 'head',
  cells: places.map((place): Cell => [place, 2000, value]),
});

/** Publishes what the provider has, and returns what is found on a kind. */
async function night(files: Record<string, Series>, kind: string): Promise<QualityFinding[]> {
  await world.publish('atlas', files);
  await world.ingest('atlas');
  return build(kind);
}

async function build(kind: string): Promise<QualityFinding[]> {
  await world.build();
  return (await world.findings()).filter((one) => one.kind === kind);
}

it('places lost are found until they are back', async () => {
  const kind = 'provider_places_lost';
  expect(await night({ cattle: series(TEN) }, kind)).toEqual([]);
  world.tomorrow();
  const lost = {
    provider: 'atlas',
    indicator: null,
    countries: ['FRA', 'IND'],
    extent: 2,
    message: 'The atlas has no figures of France, India.',
  };
  const without = TEN.filter((place) => place !== 'FRA' && place !== 'IND');
  expect(await night({ cattle: series(without) }, kind)).toMatchObject([lost]);
  // Built again on the same day, and on the next: the snapshot before lacks them already.
  expect(await build(kind)).toMatchObject([lost]);
  world.tomorrow();
  expect(await build(kind)).toMatchObject([{ ...lost, first_seen: '2026-11-21T12:00:00+00:00' }]);
  world.tomorrow();
  expect(await night({ cattle: series([...without, 'IND']) }, kind)).toMatchObject([{ countries: ['FRA'] }]);
  world.tomorrow();
  expect(await night({ cattle: series(TEN) }, kind)).toEqual([]);
});

it('places are not lost with a series that a person takes away', async () => {
  const kind = 'provider_places_lost';
  await night({ cattle: series(TEN.slice(1)), sheep: series(TEN) }, kind);
  world.tomorrow();
  await world.define('atlas', { indicators: { sheep: { enabled: false } } });
  expect(await build(kind)).toEqual([]);
});

it('a country whose code no scheme of the definition knows is lost in the first night, too', async () => {
  await world.define('atlas', { places: ['old'] });
  expect(
    await night({ cattle: series(['kos', 'France', 'DEU', 'Utopia']) }, 'provider_places_lost'),
  ).toMatchObject([
    { countries: ['DEU', 'FRA'], message: expect.stringMatching(/of Germany, France\. .* under codes/) },
  ]);
  expect(await build('provider_places_unknown')).toMatchObject([
    { extent: 1, message: '1 place is on no list, among 3 rows left out: Utopia.' },
  ]);
});

it('a held and a failed run are found until a good one', async () => {
  await world.define('atlas', { gates: { max_row_drop: 0.2, max_country_drop: 0.1 } });
  expect(await night({ cattle: series(TEN) }, 'run_held')).toEqual([]);
  world.tomorrow();
  const [held] = await night({ cattle: series(TEN.slice(5)) }, 'run_held');
  expect(held).toMatchObject({ provider: 'atlas', indicator: null });
  expect(held?.message).toContain('rows fell by 50.0 %');
  world.tomorrow();
  await world.write('mirror/atlas/datapackage.json', 'nothing');
  await world.ingest('atlas');
  expect(await build('run_held')).toEqual([]);
  expect(await build('run_failed')).toHaveLength(1);
  world.tomorrow();
  expect(await night({ cattle: series(TEN, 2) }, 'run_failed')).toEqual([]);
});

it('a series that could not be read is found, and whether an earlier one stands', async () => {
  const twice: Series = { cells: [...series(TEN).cells, ['FRA', 2000, 2]] };
  const kind = 'series_failed';
  expect(await night({ cattle: series(TEN), sheep: twice }, kind)).toMatchObject([
    { indicator: 'atlas.sheep', extent: 11, message: expect.stringContaining('No figures are published.') },
  ]);
  world.tomorrow();
  expect(await night({ cattle: twice, sheep: series(TEN) }, kind)).toMatchObject([
    { indicator: 'atlas.cattle', message: expect.stringContaining('Figures of an earlier run stand.') },
  ]);
});

it('values that curated bounds reject are found for their series, and no others', async () => {
  const kind = 'values_out_of_bounds';
  await world.define('atlas', { indicators: { cattle: { max: 100 } } });
  const wrong: Series = {
    name: 'Cattle',
    cells: [...series(TEN).cells, ['FRA', 2001, 900], ['KEN', 2002, 101]],
  };
  expect(await night({ cattle: wrong, sheep: wrong }, kind)).toMatchObject([
    {
      indicator: 'atlas.cattle',
      extent: 2,
      message: 'Left out: 2 values are above the bound 100; the first is FRA 2001: 900.',
    },
  ]);
  expect(runReport(world.records.at(-1) as RunRecord, 'record.json')).toContainEqual(
    expect.stringMatching(/^ {2}out of bounds: cattle: 2 values are above/),
  );
  world.tomorrow();
  expect(await build(kind)).toHaveLength(1);
  expect(await night({ cattle: series(TEN), sheep: wrong }, kind)).toEqual([]);
});

it('cells that look like figures and cannot be read are found for their series, and words are not', async () => {
  const kind = 'values_unreadable';
  const cells = (...given: Cell[]): Series => ({ name: 'Cattle', cells: [...series(TEN).cells, ...given] });
  const slips = cells(['FRA', 2001, '12,5'], ['KEN', 2002, "1'234,5"]);
  expect(await night({ cattle: slips, sheep: cells(['FRA', 2001, 'none']) }, kind)).toMatchObject([
    {
      indicator: 'atlas.cattle',
      extent: 2,
      message: 'Left out: 2 cells are no numbers; the first is FRA 2001: 12,5.',
    },
  ]);
  world.tomorrow();
  expect(await night({ cattle: series(TEN) }, kind)).toEqual([]);
});

it('years that only the clock makes projections are found, until a rule says so', async () => {
  const kind = 'years_flagged_by_clock';
  const ahead: Series = makeSeries(['FRA', 2025, 1], ['FRA', 2028, 2], ['DEU', 2030, 3]);
  await world.publish('atlas', { cattle: ahead, sheep: series(TEN) });
  const { run_id: held } = await world.ingest('atlas');
  await acceptRun(await world.dependencies(), 'atlas', held);
  expect(await build(kind)).toMatchObject([
    {
      indicator: 'atlas.cattle',
      years: [2028, 2030],
      extent: 2,
      message:
        '2028 to 2030 are projected only by the clock: no `projected_from` or `future_years` of the definition says so.',
    },
  ]);
  await world.define('atlas', { future_years: 'projected' });
  expect(await build(kind)).toEqual([]);
});
