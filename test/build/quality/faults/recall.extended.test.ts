/**
 * 200 faults in the providers' own figures: at least 95 % of what can be told is found, and at most 2 % of the series
 * without a fault are accused. Writes recall by kind to var/test/fault-recall.md, for docs/quality.md.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithMirror } from '../../../mirror.ts';
import { BUILD_WITHIN_MS, buildMirror } from '../../../shared-builds.ts';
import { showSnapshot } from '../../../shown-snapshot.ts';
import { DATA } from '../../world.ts';
import { measureFaults } from './faulty-nights.ts';
import {
  accusedShare,
  describeMeasurement,
  type NightMeasurement,
  recallOf,
  recallTable,
} from './measure.ts';

const SEED = 16;
const COUNT = 200;
const LEAST_RECALL = 0.95;
const MOST_ACCUSED = 0.02;
const TABLE = join(import.meta.dirname, '../../../../var/test/fault-recall.md');

describeWithMirror('faults in the figures of the providers', (mirror) => {
  let scratch: string;
  let nights: NightMeasurement[];

  beforeAll(async () => {
    const { lake, snapshots } = await buildMirror(mirror);
    const { generated_at } = (await showSnapshot(snapshots)).manifest;
    scratch = await mkdtemp(join(tmpdir(), 'almanac-faults-'));
    ({ nights } = await measureFaults(
      { lakeDir: lake, snapshotDir: snapshots, curatedDir: DATA, builtAt: Date.parse(generated_at) },
      { seed: SEED, count: COUNT, scratch },
    ));
    await mkdir(dirname(TABLE), { recursive: true });
    await writeFile(TABLE, `${recallTable(nights)}\n`);
  }, 2 * BUILD_WITHIN_MS);

  afterAll(() => rm(scratch, { recursive: true, force: true }));

  it('plants as many as it says', () => {
    expect(nights.map(({ outcomes }) => outcomes.length)).toEqual([COUNT, COUNT]);
  });

  it.each([
    ['after a good night', 0],
    ['on a first night', 1],
  ])('finds what can be told %s, and accuses few other series', (_, at) => {
    const [night] = nights.slice(at);
    if (!night) throw new RangeError('no such night');
    expect(recallOf(night), describeMeasurement(night)).toBeGreaterThanOrEqual(LEAST_RECALL);
    expect(accusedShare(night), describeMeasurement(night)).toBeLessThanOrEqual(MOST_ACCUSED);
  });
});
