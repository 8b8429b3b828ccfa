import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rollback } from '../../../build/publish/snapshot-storage.ts';
import { acquireLock, LockHeldError } from '../../../data/runtime/file-lock.ts';
import { World } from '../world.ts';

let world: World;
beforeEach(async () => {
  world = await World.create();
  await world.publish('atlas', { one: { cells: [['FRA', 2000, 1]] } });
  await world.ingest('atlas');
});
afterEach(() => world.remove());

async function buildDays(days: number): Promise<string[]> {
  const ids: string[] = [];
  for (let day = 0; day < days; day += 1) {
    ids.push((await world.build()).snapshot);
    world.tomorrow();
  }
  return ids;
}

describe('publication', () => {
  it('keeps the newest snapshots and removes older ones', async () => {
    const ids = await buildDays(5);
    expect(await world.snapshots.ids()).toEqual(ids.slice(2));
    expect(await world.snapshots.currentId()).toBe(ids[4]);
  });

  it('never removes the previous snapshot, which gateways may still read', async () => {
    world.settings.SNAPSHOT_KEEP = 1;
    const ids = await buildDays(3);
    expect(await world.snapshots.ids()).toEqual(ids.slice(1));
  });

  it('rolls back to the previous snapshot or a given one, and publishes again after that', async () => {
    const ids = await buildDays(3);
    expect(await rollback(world.snapshots)).toBe(ids[1]);
    expect(await rollback(world.snapshots)).toBe(ids[0]);
    await expect(rollback(world.snapshots)).rejects.toThrow('no earlier snapshot');
    expect(await rollback(world.snapshots, ids[2])).toBe(ids[2]);
    await expect(rollback(world.snapshots, '20200101T000000Z-00000000')).rejects.toThrow(
      'there is no snapshot',
    );
    await expect(rollback(world.snapshots, '../elsewhere')).rejects.toThrow('is not a snapshot id');
    expect(await world.snapshots.currentId()).toBe(ids[2]);
  });

  it('of equal content at the same time changes nothing', async () => {
    const first = await world.build();
    expect((await world.build()).snapshot).toBe(first.snapshot);
    expect(await world.snapshots.ids()).toEqual([first.snapshot]);
  });

  it('hides and removes an incomplete snapshot', async () => {
    const { snapshot } = await world.build();
    const half = [
      join(world.settings.SNAPSHOT_DIR, '.building-1'),
      join(world.settings.SNAPSHOT_DIR, '20300101T000000Z-00000000'),
    ];
    for (const directory of half) {
      await mkdir(directory);
      await writeFile(join(directory, 'catalogue.json'), '{}');
    }
    await writeFile(join(world.settings.SNAPSHOT_DIR, 'current.x.tmp'), 'half');
    expect(await world.snapshots.ids()).toEqual([snapshot]);
    world.tomorrow();
    const next = await world.build();
    expect((await readdir(world.settings.SNAPSHOT_DIR)).sort()).toEqual([snapshot, next.snapshot, 'current']);
  });

  it('works when the pointer names a missing snapshot', async () => {
    const { snapshot } = await world.build();
    await rm(join(world.settings.SNAPSHOT_DIR, snapshot), { recursive: true });
    world.tomorrow();
    const next = await world.build();
    expect(await world.snapshots.currentId()).toBe(next.snapshot);
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
