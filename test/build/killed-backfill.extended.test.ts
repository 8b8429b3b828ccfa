/** A backfill killed at any point adds all its editions or none, and the next one adds those that are missing. */
import { cp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { LogEntry } from '../../data/schema/snapshot.ts';
import { type Kill, runBuild } from './build-child.ts';
import { checkStoredState } from './stored-state.ts';
import { World } from './world.ts';

/** Nights of which the lake holds a run, and no edition is published. */
const NIGHTS = 2;
const DIRECTORIES = ['snapshots', 'signing'];

describe('a killed backfill', () => {
  let world: World;
  /** The log before a backfill, and after one that nothing stopped. */
  let before: LogEntry[];
  let after: LogEntry[];
  let printed: string[];
  beforeAll(async () => {
    world = await World.create({ atlas: { gates: { max_row_drop: 1, max_country_drop: 1 } } });
    for (let night = 0; night <= NIGHTS; night += 1) {
      world.tomorrow();
      await world.publish('atlas', { cows: { cells: [['FRA', 2000, night]] } });
      await world.ingest('atlas');
    }
    await world.build();
    before = await editions();
    for (const name of DIRECTORIES) await copied(name, `saved-${name}`);
    ({ lines: printed } = await run());
    after = await editions();
  });
  beforeEach(async () => {
    for (const name of DIRECTORIES) await copied(`saved-${name}`, name);
  });
  afterAll(() => world.remove());

  const run = (kill: Kill = {}) => runBuild(world, 'backfill', kill);
  const editions = async () => (await world.snapshots.log()).editions;
  async function copied(from: string, to: string): Promise<void> {
    await rm(join(world.directory, to), { recursive: true, force: true });
    await cp(join(world.directory, from), join(world.directory, to), { recursive: true });
  }

  /** The log is whole, its first edition is served, and the next backfill adds what is missing. */
  async function expectContinues(added: boolean): Promise<void> {
    await checkStoredState(world.settings.LAKE_DIR, world.settings.SNAPSHOT_DIR);
    expect(await editions()).toEqual(added ? after : before);
    expect(await world.snapshots.currentId()).toBe(before[0]?.edition);
    expect(await run()).toMatchObject({ code: 0, signal: null });
    expect(await editions()).toEqual(after);
    await checkStoredState(world.settings.LAKE_DIR, world.settings.SNAPSHOT_DIR);
    const names = await readdir(world.settings.SNAPSHOT_DIR);
    expect(names.filter((name) => name.startsWith('.'))).toEqual([]);
  }

  it('would have added an edition of each night', () => {
    expect([before.length, after.length]).toEqual([1, 1 + NIGHTS]);
  });

  it.each([
    ['the first object', 'snapshots/objects/', false],
    ['the first manifest', 'snapshots/editions/', false],
    ['the log', 'snapshots/log.json', false],
    ['the memory of the signed head', 'signing/head', false],
  ])('just before %s', async (_, path, added) => {
    expect(await run({ before: path })).toMatchObject({ code: null, signal: 'SIGKILL' });
    await expectContinues(added);
  });

  it.each([0, 0.2, 0.4, 0.6, 0.8])('at %f of its output', async (share) => {
    const line = 1 + Math.floor(share * printed.length);
    const { code, signal, lines } = await run({ line });
    // The number of progress lines depends on timing: a run with fewer lines ends by itself.
    if (signal === null) expect([code, lines.length < line]).toEqual([0, true]);
    await expectContinues((await editions()).length > before.length);
  });

  it('keeps no build from working', async () => {
    expect(await run({ before: 'snapshots/log.json' })).toMatchObject({ signal: 'SIGKILL' });
    world.tomorrow();
    await world.publish('atlas', { cows: { cells: [['FRA', 2000, NIGHTS + 1]] } });
    expect(await runBuild(world, 'build')).toMatchObject({ code: 0, signal: null });
    await checkStoredState(world.settings.LAKE_DIR, world.settings.SNAPSHOT_DIR);
    expect(await run()).toMatchObject({ code: 0, signal: null });
    const added = (await editions()).filter(({ backfilled }) => backfilled);
    expect(added.map(({ edition }) => edition)).toEqual(after.slice(1).map(({ edition }) => edition));
  });
});
