/** Which indicators are worth memory, over real Parquet. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FileList, type Manifest, observationsFile } from '../../../../data/schema/snapshot.ts';
import { SnapshotFiles } from '../../../../gateway/api/snapshot/files/snapshot-files.ts';
import type { RowText, SelectedRows } from '../../../../gateway/api/snapshot/rows/indicator-columns.ts';
import { ObservationCache, Observations } from '../../../../gateway/api/snapshot/rows/observations.ts';
import { QueryRunner } from '../../../../gateway/api/snapshot/rows/query-runner.ts';
import { readManifest } from '../../fixture-log.ts';
import { fixturePath, writeFixture } from '../../fixture-snapshot.ts';
import { objectSource } from '../../object-source.ts';

describe('the cache of hot indicators', () => {
  let root: string;
  let manifest: Manifest;
  let queries: QueryRunner;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'alm-hot-'));
    manifest = await readManifest(root, await writeFixture(root));
    queries = await QueryRunner.open(10_000);
  });
  afterAll(async () => {
    queries.close();
    await rm(root, { recursive: true });
  });

  const LONG = 'beta.long_series';
  const SMALL = 'alpha.life_expectancy';
  /** @param bytes what the manifest says of each file's size */
  const open = async (hotBytesMax: number, bytes: number): Promise<Observations> => {
    const kept: FileList = {};
    for (const name of [LONG, SMALL].map(observationsFile))
      kept[name] = { bytes, sha256: basename(await fixturePath(root, name)) };
    const files = new SnapshotFiles({ ...manifest, kept }, objectSource(root));
    const cache = new ObservationCache(queries, hotBytesMax);
    cache.popularity.indicators = 13;
    return new Observations(files, cache);
  };
  const filter = { countries: ['DEU', 'KEN'], from: 2000, to: 2021 };
  /** About the size of JSON. */
  const rowText = async ({ held, at }: SelectedRows): Promise<RowText> => {
    const rows = Array.from(at, (row) => `${held.columns.year[row]} ${held.columns.value[row]}`.padEnd(100));
    const ends = Uint32Array.from(rows, (_, row) => 101 * row + 100);
    return { buffer: Buffer.from(rows.join(',')), head_bytes: 0, separator_bytes: 1, ends };
  };
  const text = async (observations: Observations, id: string): Promise<string> =>
    Buffer.concat(await (await observations.select(id, filter)).text('test', rowText)).toString();

  test('a first filtered request reads its rows, the second loads all columns, the third is a hit', async () => {
    const observations = await open(10_000_000, 1);
    const first = await text(observations, LONG);
    expect(observations.hotBytes).toBe(0);
    expect(await text(observations, LONG)).toBe(first);
    expect(observations.hotBytes).toBeGreaterThan(0);
    expect(await text(observations, LONG)).toBe(first);
    expect(observations.counts).toEqual({ hits: 1, misses: 2 });
  });

  test('an unfiltered request reads all columns and keeps them at the second time', async () => {
    const observations = await open(10_000_000, 1);
    expect((await observations.select(LONG, {})).count).toBe(2750);
    expect(observations.hotBytes).toBe(0);
    await observations.select(LONG, {});
    expect(observations.hotBytes).toBeGreaterThan(0);
  });

  test('an indicator evicts another only when it is requested more often', async () => {
    // By the estimate an indicator takes 60 % of the memory: one fits, two do not.
    const observations = await open(400_000, 20_000);
    const misses = async (id: string, requests: number): Promise<number> => {
      const before = observations.counts.misses;
      for (let ask = 0; ask < requests; ask += 1) await text(observations, id);
      return observations.counts.misses - before;
    };
    expect(await misses(LONG, 4)).toBe(2);
    expect(await misses(SMALL, 4)).toBe(4);
    expect(await misses(LONG, 1)).toBe(0);
    expect(await misses(SMALL, 3)).toBe(2);
    expect(await misses(SMALL, 1)).toBe(0);
  });
});
