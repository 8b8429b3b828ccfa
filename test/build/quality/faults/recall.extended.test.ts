/**
 * Faults in the files of two providers, read and built as on any night: at least 95 % are found after a good night, and
 * 90 % of those that can be told on a first one, and no other series is accused. Writes recall by kind to
 * var/test/fault-recall.md, for docs/quality.md.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithMirror } from '../../../mirror.ts';
import { DATA } from '../../world.ts';
import { UPSTREAM_FAULTS } from './fault-kinds.ts';
import {
  describeNight,
  measureUpstreamFaults,
  type NightOutcome,
  recallOf,
  recallTable,
} from './faulty-upstream.ts';

const SEED = 77;
const EACH = 5;
const TABLE = join(import.meta.dirname, '../../../../var/test/fault-recall.md');

describeWithMirror('faults in the files of providers', (mirror) => {
  let scratch: string;
  let nights: NightOutcome[];

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'almanac-faults-'));
    nights = await measureUpstreamFaults(mirror, { seed: SEED, each: EACH, scratch });
    await mkdir(dirname(TABLE), { recursive: true });
    await writeFile(TABLE, `${recallTable(nights)}\n`);
  });

  afterAll(() => rm(scratch, { recursive: true, force: true }));

  it('plants every kind', () => {
    const planted = new Set(nights.flatMap(({ outcomes }) => outcomes.map(({ fault }) => fault.kind)));
    expect([...planted].sort()).toEqual(Object.keys(UPSTREAM_FAULTS).sort());
  });

  it.each([
    ['after a good night', 0, 0.95],
    ['on a first night', 1, 0.9],
  ])('finds what can be told %s, half of each kind or more, and accuses nobody else', (_, at, least) => {
    const [night] = nights.slice(at);
    if (!night) throw new RangeError('no such night');
    expect(recallOf(night), describeNight(night)).toBeGreaterThanOrEqual(least);
    const told = night.outcomes.filter((one) => one.told);
    const unfound = Object.keys(UPSTREAM_FAULTS).filter((kind) => {
      const own = told.filter(({ fault }) => fault.kind === kind);
      return own.filter(({ found }) => found !== null).length < own.length / 2;
    });
    expect(unfound, describeNight(night)).toEqual([]);
    expect(night.accusations, describeNight(night)).toEqual([]);
  });
});

it('documents every kind of fault', async () => {
  const text = await readFile(join(DATA, '../docs/quality.md'), 'utf8');
  const documented = [...text.matchAll(/^\| `(\w+)` \| (.+?) \| (\d+ of \d+|–) \| .*\|$/gm)];
  expect(documented.map(([, kind, what]) => [kind, what])).toEqual(
    Object.entries(UPSTREAM_FAULTS).map(([kind, { what }]) => [kind, what]),
  );
});
