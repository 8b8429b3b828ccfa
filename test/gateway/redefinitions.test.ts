/** A unit that changes, in place and while the series is away: what the gate, changes, revisions and claims say of it. */
import { expect, test } from 'vitest';
import { acceptRun } from '../../build/ingest/accept-run.ts';
import { type Series, World } from '../build/world.ts';
import { useService } from './service.ts';

const herd = (unit: string, ...values: number[]): Series => ({
  name: 'Herd',
  unit,
  cells: values.map((value, at) => ['FRA', 2000 + at, value]),
});
const GATES = { gates: { max_row_drop: 1, max_country_drop: 1 } };

const world = await World.use({ atlas: GATES, globe: GATES });
const editions: string[] = [];
const held: string[] = [];

async function night(series: Record<string, Series>): Promise<void> {
  await world.publish('atlas', series);
  const record = await world.ingest('atlas');
  if (record.status === 'suspicious') {
    held.push(record.reason ?? '');
    await acceptRun(await world.dependencies(), 'atlas', record.run_id);
  }
  editions.push((await world.build()).snapshot);
  world.tomorrow();
}

const goats = herd('head', 7);
await night({ cows: herd('people', 51_000, 52_000), sheep: herd('people', 5, 6), goats });
await night({ cows: herd('thousands', 51, 52), goats });
await night({ cows: herd('thousands', 51, 53), goats });
await night({ cows: herd('thousands', 51, 53), sheep: herd('thousands', 5, 6), goats });
/** What globe renames without a word, with another unit: the rename is entered on the night after. */
await world.ingestSeries({ mules: herd('head', 7, 8) }, 'globe');
editions.push((await world.build()).snapshot);
world.tomorrow();
await world.ingestSeries({ hinnies: herd('pairs', 3.5, 4) }, 'globe');
editions.push((await world.build()).snapshot);
await world.list('aliases', 'globe.mules,globe.hinnies,2026-11-25,');
world.tomorrow();
editions.push((await world.build()).snapshot);
const service = await useService({ snapshots: world.settings.SNAPSHOT_DIR });
const reader = await service.account({ credits: 1_000 });

const ask = async (path: string) => (await service.get(path, { key: reader.key })).json;
const unit = { old: 'people', new: 'thousands' };

test('the gate holds it, also of a series that vanished and came back', () => {
  expect(held).toHaveLength(2);
  expect(held[0]).toContain('cows: unit changed from "people" to "thousands"');
  expect(held[1]).toContain('sheep: unit changed from "people" to "thousands"');
});

test('changes list it as redefined', async () => {
  const { data } = await ask('/v1/changes');
  const told = data.map((entry: { redefined: { indicator: string; unit: unknown }[] }) =>
    entry.redefined.map(({ indicator, unit: changed }) => [indicator, changed]),
  );
  expect(told).toEqual([[], [], [], [['atlas.sheep', unit]], [], [['atlas.cows', unit]], []]);
  const { json } = await service.get('/v1/editions');
  expect(json.data[3].changed).toEqual({
    atlas: { added: 1, withdrawn: 0, renamed: 0, revised: 0, redefined: 1 },
  });
});

test('revisions name the unit of both figures', async () => {
  const rows = async (indicator: string) =>
    (await ask(`/v1/revisions?indicator=${indicator}&to=2000`)).data.map((row: Record<string, unknown>) => [
      row.kind,
      row.old_value,
      row.old_unit,
      row.new_value,
      row.new_unit,
    ]);
  expect(await rows('atlas.cows')).toEqual([['changed', 51_000, 'people', 51, 'thousands']]);
  expect(await rows('atlas.sheep')).toEqual([
    ['withdrawn', 5, 'people', null, null],
    ['restored', null, null, 5, 'thousands'],
  ]);
});

test('claims on the figure in the unit of before are redefined, and every verdict names the change', async () => {
  const claim = async (text: string) => (await ask(`/v1/verify?claim=${text}`)).data[0];
  const [first, second, , fourth] = editions;
  const redefined = { edition: second, unit, definition: null };
  const earlier = { value: 51_000, unit: 'people', edition: first, superseded_by: second };
  expect(await claim('atlas.cows,FRA,2000,51000')).toMatchObject({
    verdict: 'redefined',
    earlier,
    redefined,
  });
  expect(await claim('atlas.cows,FRA,2001,52')).toMatchObject({
    verdict: 'superseded',
    redefined,
    earlier: { value: 52, unit: 'thousands' },
  });
  expect(await claim('atlas.sheep,FRA,2000,5')).toMatchObject({
    verdict: 'exact',
    earlier: null,
    redefined: { edition: fourth, unit },
  });
  expect(await claim('globe.mules,FRA,2000,7')).toMatchObject({
    indicator: 'globe.hinnies',
    verdict: 'redefined',
    redefined: { edition: editions[5], unit: { old: 'head', new: 'pairs' } },
  });
  expect(await claim('atlas.goats,FRA,2000,7')).toMatchObject({ verdict: 'exact', redefined: null });
});

test('the list of changes of an indicator and its page name it', async () => {
  const { editions: listed } = (await ask('/v1/indicators/atlas.cows?include=editions')).data;
  expect(listed.at(-1)).toMatchObject({ edition: editions[1], redefined: { unit } });
  expect((await service.get('/indicators/atlas.cows')).text).toContain('unit people → thousands');
});
