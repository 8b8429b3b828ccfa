/** Failed, cancelled, crashed, concurrent and consecutive runs. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { acquireLock, LockHeldError } from '../../../data/runtime/file-lock.ts';
import { cells, World } from '../world.ts';

let world: World;
beforeEach(async () => {
  world = await World.ofTest();
});

describe('a run that fails', () => {
  it('leaves a record with its reason, and the last good run stays current', async () => {
    await world.publish('atlas', { one: { cells: cells(5) } });
    const good = await world.ingest('atlas');
    await world.write('mirror/atlas/datapackage.json', '{"resources": [');
    world.tomorrow();
    const failed = await world.ingest('atlas');
    expect(failed).toMatchObject({ status: 'failed', reason: expect.stringContaining('datapackage.json') });
    expect((await world.lake('atlas').current())?.record.run_id).toBe(good.run_id);
    expect(await readdir(join(world.settings.LAKE_DIR, 'atlas', failed.run_id))).toEqual(['run.json']);
  });

  it.each([
    ['a missing upstream', async () => {}, /"datapackage.json" is not in the mirror/],
    [
      'source settings that are invalid for the connector',
      () => world.define('atlas', { source: { nonsense: 1 } }),
      /is not valid for connector ddf/,
    ],
    [
      'an unknown connector',
      () => world.define('atlas', { connector: 'telegraph' }),
      /no connector "telegraph"/,
    ],
    [
      'an unknown layout',
      () => world.write('mirror/atlas/datapackage.json', '{"resources": []}'),
      /lists no concepts/,
    ],
    [
      'a missing datapoint file',
      async () => {
        await world.publish('atlas', { one: { cells: cells(1) } });
        await rm(join(world.directory, 'mirror/atlas/ddf--datapoints--one--by--geo--time.csv'));
      },
      /not in the mirror/,
    ],
  ])('has a reason: %s', async (_, spoil, reason) => {
    await spoil();
    expect(await world.ingest('atlas')).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(reason),
    });
    expect(await world.lake('atlas').current()).toBeNull();
  });

  it('is recorded as cancelled when its signal aborts', async () => {
    await world.publish('atlas', { one: { cells: cells(5) } });
    const record = await world.ingest('atlas', { signal: AbortSignal.abort() });
    expect(record.status).toBe('cancelled');
    expect(await world.ingest('atlas')).toMatchObject({ status: 'succeeded' });
  });

  it('and was interrupted by a crash is recorded as failed by the next run, without its data', async () => {
    await world.publish('atlas', { one: { cells: cells(5) } });
    const lake = world.lake('atlas');
    const { id, directory } = await lake.begin(world.clock - 60_000);
    await writeFile(join(directory, 'observations.parquet'), 'half');
    expect(await world.ingest('atlas')).toMatchObject({ status: 'succeeded' });
    expect(await lake.record(id)).toMatchObject({
      status: 'failed',
      started_at: '2026-11-20T11:59:00+00:00',
      reason: 'The process ended before the run finished.',
    });
    expect(await readdir(join(lake.directory, id))).toEqual(['run.json']);
  });

  it('between its rename and the pointer is made current by the next run', async () => {
    await world.publish('atlas', { one: { cells: cells(5) } });
    const first = await world.ingest('atlas');
    world.tomorrow();
    await world.publish('atlas', { one: { cells: cells(6) } });
    const second = await world.ingest('atlas');
    await writeFile(join(world.settings.LAKE_DIR, 'atlas', 'current'), first.run_id);
    expect(await world.ingest('atlas')).toMatchObject({ status: 'unchanged', rows_written: 60 });
    expect((await world.lake('atlas').current())?.record.run_id).toBe(second.run_id);
  });

  it('does not stop the next run when the last good run cannot be read', async () => {
    await world.publish('atlas', { one: { cells: cells(5) } });
    const first = await world.ingest('atlas');
    await rm(join(world.settings.LAKE_DIR, 'atlas', first.run_id), { recursive: true });
    world.tomorrow();
    expect(await world.ingest('atlas')).toMatchObject({ status: 'succeeded' });
  });
});

describe('runs of one provider', () => {
  it('never run at the same time', async () => {
    const lock = await acquireLock(world.lake('atlas').lockFile, 'provider atlas');
    await expect(world.ingest('atlas')).rejects.toThrow(LockHeldError);
    await lock.release();
    await world.publish('atlas', { one: { cells: cells(1) } });
    const both = await Promise.allSettled([world.ingest('atlas'), world.ingest('atlas')]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('are kept up to LAKE_KEEP, and the current one always', async () => {
    for (let day = 1; day <= 5; day += 1) {
      await world.publish('atlas', { one: { cells: cells(day) } });
      await world.ingest('atlas');
      world.tomorrow();
    }
    const runs = await world.lake('atlas').records();
    expect(runs.map(({ rows_written }) => rows_written)).toEqual([30, 40, 50]);
  });

  it('get different ids within one second', async () => {
    await world.publish('atlas', { one: { cells: cells(1) } });
    const [first, second] = [await world.ingest('atlas'), await world.ingest('atlas')];
    expect([first.run_id, second.run_id]).toEqual(['20261120T120000Z', '20261120T120000Z-2']);
    expect(
      JSON.parse(await readFile(join(world.settings.LAKE_DIR, 'atlas', second.run_id, 'run.json'), 'utf8')),
    ).toEqual({ format: 1, ...second });
  });
});

it('an empty provider directory has no runs', async () => {
  await mkdir(join(world.settings.LAKE_DIR, 'atlas'), { recursive: true });
  expect(await world.lake('atlas').current()).toBeNull();
  expect(await world.lake('atlas').records()).toEqual([]);
});
