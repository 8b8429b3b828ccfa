/**
 * Corrupted claims over a small collection: two providers with series of one concept, three editions, one of them rolled
 * back. `corruptions.extended.test.ts` does the same over the starter data.
 */
import { afterAll, expect, test } from 'vitest';
import { loadCurated } from '../../../../../data/curated/curated.ts';
import { cells, World } from '../../../../build/world.ts';
import { SEED } from '../../../../environment.ts';
import { seededRandom } from '../../../../seeded-random.ts';
import { openSnapshots } from '../../../open-snapshots.ts';
import { Corruptions, revisedFigures } from './corruptions.ts';
import { judgeAll } from './measure.ts';
import { EditionTruth, twinsOf } from './truth.ts';
import { expectRightVerdicts } from './verdict-suite.ts';

const CLAIMS = 700;

/** Figures of a night: a part of them is revised each time. */
async function night(number: number): Promise<void> {
  const random = seededRandom(SEED ?? 17);
  const figure = (scale: number, digits: number, offset = 0) =>
    cells(15, (place, year) => {
      const level = scale * (1 + place) * 1.03 ** year * (1 + offset + random.next() / 5);
      const revised = random.next() < 0.2 ? level * (1 + number / 70) : level;
      return Number(revised.toFixed(digits));
    });
  await world.publish('atlas', {
    people: { cells: figure(1_000_000, 0) },
    share: { cells: figure(2, 1) },
    income: { cells: figure(3_000, 3) },
  });
  await world.publish('beacon', {
    people: { cells: figure(1_000, 3, 0.02) },
    share: { cells: figure(2, 2, 0.03) },
  });
  world.tomorrow();
  for (const provider of ['atlas', 'beacon']) await world.ingest(provider);
  await world.build();
}

const gates = { max_row_drop: 1, max_country_drop: 1 };
const world = await World.use({ atlas: { gates }, beacon: { gates } });
await world.list(
  'concepts',
  'people,People,population,none,atlas.people,',
  'share,Share,economy,none,atlas.share,',
);
await world.list(
  'concept-series',
  'people,atlas.people,,,',
  'people,beacon.people,1000,,',
  'share,atlas.share,,,',
  'share,beacon.share,,,',
);
await night(0);
const earlier = await EditionTruth.read(world.settings.SNAPSHOT_DIR);
await night(2);
const rolledBack = await EditionTruth.read(world.settings.SNAPSHOT_DIR);
await world.rollback();
await night(1);
const store = await openSnapshots(world.settings.SNAPSHOT_DIR);
afterAll(() => store.close());
const now = await EditionTruth.read(world.settings.SNAPSHOT_DIR);
const { concepts } = await loadCurated(world.settings.CURATED_DIR);
const revised = revisedFigures(now, [earlier]);
const corruptions = new Corruptions({ now, twins: twinsOf(concepts), revised }, seededRandom(SEED ?? 17));
const judged = await judgeAll(store, corruptions, corruptions.make(CLAIMS));

expectRightVerdicts(() => judged, CLAIMS, 20);

test('figures of an edition that was rolled back are not superseded', async () => {
  const now = await EditionTruth.read(world.settings.SNAPSHOT_DIR);
  const revised = revisedFigures(now, [rolledBack]);
  const corruptions = new Corruptions({ now, twins: new Map(), revised }, seededRandom(SEED ?? 17));
  const claims = revised.slice(0, 100).map((one) => ({
    kind: 'superseded' as const,
    ...one,
    text: String(one.values[0]),
    value: now.value(one) ?? Number.NaN,
  }));
  expect(claims.length).toBeGreaterThan(20);
  const rows = await judgeAll(store, corruptions, claims);
  expect(rows.filter(({ row }) => row.verdict === 'superseded')).toEqual([]);
});
