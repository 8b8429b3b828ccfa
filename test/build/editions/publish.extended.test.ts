import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { SnapshotStorage } from '../../../build/editions/snapshot-storage.ts';
import { acquireLock, LockHeldError } from '../../../data/runtime/file-lock.ts';
import { takenBack } from '../../../data/schema/editions.ts';
import { formatTimestamp } from '../../../data/schema/records.ts';
import { verifyFiles } from '../stored-state.ts';
import { World } from '../world.ts';

let world: World;
beforeEach(async () => {
  world = await World.ofTest();
  await world.ingestSeries({ one: { cells: [['FRA', 2000, 1]] } });
});

async function buildDays(days: number): Promise<string[]> {
  const ids: string[] = [];
  for (let day = 0; day < days; day += 1) ids.push(await buildNews(day));
  return ids;
}

/** Builds a snapshot with another name of the series than the one before, and goes on to the next day. */
async function buildNews(name: number): Promise<string> {
  await world.define('atlas', { indicators: { one: { name: `Series ${name}` } } });
  const { snapshot } = await world.build();
  world.tomorrow();
  return snapshot;
}

/** Ids of the snapshots whose prerendered files are there. */
async function servable(): Promise<string[]> {
  const ids: string[] = [];
  for (const id of await world.snapshots.ids()) {
    const files = await world.snapshots.prerendered(await world.snapshots.open(id));
    const refs = Object.values(files ?? {});
    const present = refs.filter((ref) => existsSync(world.snapshots.pathOf(ref)));
    expect([0, Object.keys(files ?? {}).length]).toContain(present.length);
    if (present.length > 0) ids.push(id);
  }
  return ids;
}

describe('publication', () => {
  it('keeps the prerendered files of the newest snapshots, and the kept files of all', async () => {
    const ids = await buildDays(5);
    expect(await world.snapshots.ids()).toEqual(ids);
    expect(await servable()).toEqual(ids.slice(2));
    expect(await world.snapshots.currentId()).toBe(ids[4]);
    for (const id of ids) await verifyFiles(world.snapshots, (await world.snapshots.open(id)).kept);
    await expect(world.rollback(ids[1])).rejects.toThrow('SNAPSHOT_KEEP');
  });

  it('never removes the previous snapshot, which gateways may still read', async () => {
    world.settings.SNAPSHOT_KEEP = 1;
    const ids = await buildDays(3);
    expect(await servable()).toEqual(ids.slice(1));
  });

  it('rolls back to the previous snapshot or a given one, and publishes again after that', async () => {
    const ids = await buildDays(3);
    expect(await world.rollback()).toBe(ids[1]);
    expect(await world.rollback()).toBe(ids[0]);
    await expect(world.rollback()).rejects.toThrow('no earlier snapshot');
    expect(await world.rollback(ids[2])).toBe(ids[2]);
    await expect(world.rollback('20200101T000000Z-00000000')).rejects.toThrow('there is no snapshot');
    await expect(world.rollback('../elsewhere')).rejects.toThrow('is not a snapshot id');
    expect(await world.snapshots.currentId()).toBe(ids[2]);
  });

  it('of equal content publishes nothing and keeps the time of publication', async () => {
    const first = await world.build();
    world.tomorrow();
    const second = await world.build();
    expect(second).toMatchObject({ ...first, is_new: false, reused: 1, steps_ms: {} });
    expect(await world.snapshots.ids()).toEqual([first.snapshot]);
  });

  it('stores what did not change once', async () => {
    await world.ingestSeries({ one: { cells: [['FRA', 2000, 1]] }, two: { cells: [['FRA', 2000, 2]] } });
    await world.build();
    const before = await world.served();
    world.tomorrow();
    await world.ingestSeries({ one: { cells: [['FRA', 2000, 3]] }, two: { cells: [['FRA', 2000, 2]] } });
    await world.build();
    const after = await world.served();
    const changed = Object.keys(after.kept).filter(
      (name) => after.kept[name]?.sha256 !== before.kept[name]?.sha256,
    );
    expect(changed.sort()).toEqual([
      'latest/atlas.0.parquet',
      'observations/atlas.one.parquet',
      'proofs/atlas.json',
    ]);
  });

  it('gives each snapshot a later time than the one before, in whole seconds', async () => {
    world.clock += 700;
    const ids = [await buildNews(1)];
    world.tomorrow(-1);
    ids.push(await buildNews(2));
    const { editions } = await world.snapshots.log();
    expect(editions.map(({ edition }) => edition)).toEqual(ids);
    expect(editions.map(({ published_at }) => published_at)).toEqual([
      '2026-11-20T12:00:00+00:00',
      '2026-11-20T12:00:01+00:00',
    ]);
  });

  it('enters the time right before it is served, after everything that takes time', async () => {
    await buildNews(1);
    let served_ms = 0;
    const { serve } = SnapshotStorage.prototype;
    vi.spyOn(SnapshotStorage.prototype, 'serve').mockImplementationOnce(function (this: SnapshotStorage, id) {
      served_ms = world.clock;
      return serve.call(this, id);
    });
    await world.define('atlas', { indicators: { one: { name: 'Series 2' } } });
    const { snapshot, generated_at } = await world.build({
      now: () => {
        world.clock += 1000;
        return world.clock;
      },
    });
    const entry = (await world.snapshots.log()).editions.at(-1);
    expect(entry).toMatchObject({ edition: snapshot, published_at: formatTimestamp(served_ms) });
    expect(Date.parse(generated_at)).toBeLessThan(served_ms);
  });

  it('records when and why a snapshot was taken back, and what was never served', async () => {
    const ids = await buildDays(3);
    await world.rollback(ids[0], 'A provider sent nonsense.');
    const [day, next] = [formatTimestamp(world.clock), formatTimestamp(world.clock + 86_400_000)];
    ids.push(await buildNews(3));
    await world.rollback();
    await world.rollback(ids[2]);
    const log = await world.snapshots.log();
    expect(log.rollbacks).toEqual([
      { from: ids[2], to: ids[0], at: day, reason: 'A provider sent nonsense.' },
      { from: ids[3], to: ids[0], at: next, reason: null },
      { from: ids[0], to: ids[2], at: next, reason: null },
    ]);
    expect([...takenBack(log, ids[2] ?? '')]).toEqual([[ids[3], log.rollbacks[1]]]);
    expect([...takenBack(log, ids[0] ?? '')]).toEqual([
      [ids[1], log.rollbacks[0]],
      [ids[2], log.rollbacks[0]],
      [ids[3], log.rollbacks[1]],
    ]);
  });

  it('removes what a crash left', async () => {
    const { snapshot } = await world.build();
    const half = join(world.settings.SNAPSHOT_DIR, '.building-1');
    await mkdir(half);
    await writeFile(join(half, 'catalogue.json'), '{}');
    await writeFile(join(world.settings.SNAPSHOT_DIR, 'current.x.tmp'), 'half');
    await writeFile(join(world.settings.SNAPSHOT_DIR, 'editions', 'x.json.tmp'), 'half');
    const next = await buildNews(1);
    expect(await world.snapshots.ids()).toEqual([snapshot, next]);
    expect((await readdir(world.settings.SNAPSHOT_DIR)).sort()).toEqual([
      'current',
      'editions',
      'keys.json',
      'log.json',
      'objects',
    ]);
    expect(await readdir(join(world.settings.SNAPSHOT_DIR, 'editions'))).toHaveLength(2);
  });

  it('works when the pointer names a missing snapshot', async () => {
    const { snapshot } = await world.build();
    await rm(join(world.settings.SNAPSHOT_DIR, 'editions', `${snapshot}.json`));
    const next = await buildNews(1);
    expect(await world.snapshots.currentId()).toBe(next);
  });

  it('never runs twice at the same time', async () => {
    const lock = await acquireLock(world.snapshots.lockFile, 'the snapshot');
    await expect(world.build()).rejects.toThrow(LockHeldError);
    await lock.release();
    await world.build();
  });

  it('builds in a new directory each time, so that a build that lost its lock writes into no other', async () => {
    const [first, second] = [await world.snapshots.begin(), await world.snapshots.begin()];
    expect(first).not.toBe(second);
    await world.build();
    expect((await readdir(world.settings.SNAPSHOT_DIR)).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('can be cancelled between two steps', async () => {
    await expect(world.build({ signal: AbortSignal.abort(new Error('stopped')) })).rejects.toThrow('stopped');
    expect(await world.snapshots.currentId()).toBeNull();
    await world.build();
  });
});
