/**
 * The generator of faults, and what the quality report finds of them in small made-up data. `recall.extended.test.ts`
 * does the same with the providers' figures.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { observationsFile } from '../../../../data/schema/snapshot.ts';
import { readCatalogue, showSnapshot } from '../../../shown-snapshot.ts';
import { DATA } from '../../world.ts';
import { FAULT_KINDS } from './fault.ts';
import { type FaultyNights, measureFaults, openGoodData } from './faulty-nights.ts';
import { accusedShare, describeMeasurement, recallOf } from './measure.ts';
import { plantFaults, touchedBy } from './plant-faults.ts';
import { makeGoodData } from './synthetic-data.ts';

const SEED = 16;
const COUNT = 58;
const LEAST_RECALL = 0.95;
const MOST_ACCUSED = 0.02;

let world: Awaited<ReturnType<typeof makeGoodData>>;
let measured: FaultyNights;

const goodNight = () => ({
  lakeDir: world.settings.LAKE_DIR,
  snapshotDir: world.settings.SNAPSHOT_DIR,
  curatedDir: world.settings.CURATED_DIR,
  builtAt: world.clock,
});
const directory = (name: string): string => join(world.directory, name);

beforeAll(async () => {
  world = await makeGoodData(SEED);
  await world.build();
  measured = await measureFaults(goodNight(), { seed: SEED, count: COUNT, scratch: directory('measured') });
});

afterAll(() => world.remove());

it('has no doubt about good data', () => {
  expect(measured.open.map(({ message }) => message)).toEqual([]);
});

it('plants faults of all kinds, by a seed, and touches no series twice', async () => {
  const { planted } = measured;
  expect(planted).toHaveLength(COUNT);
  expect(new Set(planted.map(({ fault }) => fault.kind))).toEqual(new Set(Object.keys(FAULT_KINDS)));
  const data = await openGoodData(goodNight(), directory('again'));
  const touched = planted.flatMap(({ changes }) => touchedBy(changes, data));
  expect(touched).toEqual([...new Set(touched)]);
  expect(await plantFaults(data, { seed: SEED, count: COUNT })).toEqual(planted);
  const others = await plantFaults(data, { seed: SEED + 1, count: COUNT });
  expect(others.map(({ fault }) => fault)).not.toEqual(planted.map(({ fault }) => fault));
  await data.close();
});

it('publishes what was planted and changes no other series', async () => {
  const before = await publishedSeries(world.settings.SNAPSHOT_DIR);
  const after = await publishedSeries(directory('measured/second/snapshots'));
  const data = await openGoodData(goodNight(), directory('again'));
  const touched = measured.planted.flatMap(({ changes }) => touchedBy(changes, data));
  await data.close();
  const changed = [...after].filter(([id, content]) => before.get(id) !== content).map(([id]) => id);
  expect(changed.filter((id) => !touched.includes(id))).toEqual([]);
  // Linking two series changes neither, publishing one again leaves the first as it is, and some faults are refused.
  const [night] = measured.nights;
  const unchanged = measured.planted.flatMap(({ changes, fault }) => {
    const wasRefused = night?.outcomes.some((one) => one.fault === fault && one.isDealtWith);
    return wasRefused ? touchedBy(changes, data) : [...(changes.linked ?? []), changes.added?.like];
  });
  expect(touched.filter((id) => !changed.includes(id) && !unchanged.includes(id))).toEqual([]);
});

it.each([
  ['after a good night', 0],
  ['on a first night', 1],
])('finds what can be told %s, and accuses few other series', (_, at) => {
  const [night] = measured.nights.slice(at);
  if (!night) throw new RangeError('no such night');
  expect(recallOf(night), describeMeasurement(night)).toBeGreaterThanOrEqual(LEAST_RECALL);
  expect(accusedShare(night), describeMeasurement(night)).toBeLessThanOrEqual(MOST_ACCUSED);
});

it('documents every kind of fault', async () => {
  const text = await readFile(join(DATA, '../docs/quality.md'), 'utf8');
  const documented = [...text.matchAll(/^\| `(\w+)` \| (.+?) \| \d+ \| .* \| .* \|$/gm)].map(
    ([, kind, what]) => [kind, what],
  );
  expect(documented).toEqual(Object.entries(FAULT_KINDS).map(([kind, { what }]) => [kind, what]));
});

/** Record and hash of the figures of every published series. */
async function publishedSeries(snapshotDir: string): Promise<Map<string, string>> {
  const shown = await showSnapshot(snapshotDir);
  const { indicators } = await readCatalogue(shown);
  const hashOf = (id: string): string | undefined => shown.kept[observationsFile(id)]?.sha256;
  return new Map(indicators.map(({ record }) => [record.id, JSON.stringify([record, hashOf(record.id)])]));
}
