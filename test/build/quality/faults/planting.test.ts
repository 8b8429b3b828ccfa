/** The generator of faults: the same for one seed, and it changes what it says and nothing else. */
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ProviderLake } from '../../../../build/lake/lake.ts';
import { catalogueIndex } from '../../../../data/schema/snapshot.ts';
import { FAULT_KINDS } from './fault.ts';
import { GoodData } from './good-data.ts';
import { plantFaults, touchedBy } from './plant-faults.ts';
import { makeGoodData, type SyntheticData } from './synthetic-data.ts';
import type { Planted } from './tools.ts';
import { copyAsFirstNight, writeNight } from './write-night.ts';

const SEED = 16;
const COUNT = 58;

let good: SyntheticData;
let data: GoodData;
let planted: Planted[];

const plant = (seed: number): Promise<Planted[]> => plantFaults(data, { seed, count: COUNT });

beforeAll(async () => {
  good = await makeGoodData(SEED);
  const { world, twins } = good;
  await world.build();
  data = await GoodData.open({
    lakeDir: world.settings.LAKE_DIR,
    curatedDir: world.settings.CURATED_DIR,
    twins,
    currentYear: 2026,
    scratch: join(world.directory, 'scratch'),
  });
  planted = await plant(SEED);
});

afterAll(async () => {
  await data.close();
  await good.world.remove();
});

describe('planted faults', () => {
  it('are the same for one seed, and others for another', async () => {
    expect(await plant(SEED)).toEqual(planted);
    expect((await plant(SEED + 1)).map(({ fault }) => fault)).not.toEqual(planted.map(({ fault }) => fault));
  });

  it('are of all kinds, and touch no series twice', () => {
    expect(planted).toHaveLength(COUNT);
    expect(new Set(planted.map(({ fault }) => fault.kind))).toEqual(new Set(Object.keys(FAULT_KINDS)));
    const touched = planted.flatMap(({ changes }) => touchedBy(changes, data));
    expect(touched).toEqual([...new Set(touched)]);
  });

  it('are published as planted, and nothing else changes', async () => {
    const { world } = good;
    const before = await publishedSeries();
    await cp(world.settings.CURATED_DIR, join(world.directory, 'good-data'), { recursive: true });
    world.tomorrow();
    await writeNight(
      { lakeDir: world.settings.LAKE_DIR, curatedDir: world.settings.CURATED_DIR, now: world.clock },
      data,
      planted.map(({ changes }) => changes),
    );
    await world.build();
    const after = await publishedSeries();
    const touched = new Set(planted.flatMap(({ changes }) => touchedBy(changes, data)));
    const changed = [...after].filter(([id, text]) => before.get(id) !== text).map(([id]) => id);
    expect(changed.filter((id) => !touched.has(id))).toEqual([]);
    // Linking two series changes neither, and publishing one again leaves the first as it is.
    const alike = planted.flatMap(({ changes }) => [...(changes.linked ?? []), changes.added?.like]);
    expect([...touched].filter((id) => !changed.includes(id) && !alike.includes(id))).toEqual([]);
  });

  it('are published on a first night, too', async () => {
    const { world } = good;
    const lakeDir = join(world.directory, 'first/lake');
    await copyAsFirstNight(world.settings.LAKE_DIR, lakeDir, ['atlas', 'gazette', 'beacon']);
    const settings = {
      ...world.settings,
      LAKE_DIR: lakeDir,
      SNAPSHOT_DIR: join(world.directory, 'first/snapshots'),
    };
    const first = await world.build({ settings });
    expect(first.counts.indicators).toBe((await publishedSeries()).size);
  });
});

/** Record and digest of the figures of every published series. */
async function publishedSeries(): Promise<Map<string, string>> {
  const { directory } = await good.world.served();
  const { indicators } = catalogueIndex.parse(
    JSON.parse(await readFile(join(directory, 'catalogue.json'), 'utf8')),
  );
  const facts = new Map<string, string>();
  for (const provider of ['atlas', 'gazette', 'beacon']) {
    const lake = new ProviderLake(good.world.settings.LAKE_DIR, provider);
    const run = await lake.current();
    const series = run ? await lake.series(run) : {};
    for (const [slug, { digest }] of Object.entries(series)) facts.set(`${provider}.${slug}`, digest);
  }
  return new Map(indicators.map(({ record }) => [record.id, JSON.stringify([record, facts.get(record.id)])]));
}
