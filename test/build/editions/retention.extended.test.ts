import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { collectGarbage, SCRUB_NIGHTS, scrub } from '../../../build/editions/retention.ts';
import { nightly, nightlyExitCode } from '../../../build/nightly.ts';
import { acquireLock, LockHeldError } from '../../../data/runtime/file-lock.ts';
import type { FileRef } from '../../../data/schema/snapshot.ts';
import { expireLock } from '../../expire-lock.ts';
import { verifyFiles } from '../stored-state.ts';
import { World } from '../world.ts';

const MAIN = fileURLToPath(new URL('../../../build/main.ts', import.meta.url));
const KILLS = 25;
/** Objects before each kill that nothing names, so that their removal takes a while. */
const UNNAMED = 160;

const world = await World.use();
/** Five snapshots, of which the newest three have prerendered files. */
const ids: string[] = [];
for (let day = 0; day < 5; day += 1) {
  await ingestNight();
  ids.push((await world.build()).snapshot);
}
const saved = join(world.directory, 'saved');
await cp(world.settings.SNAPSHOT_DIR, saved, { recursive: true });
beforeEach(async () => {
  world.settings.SNAPSHOT_KEEP = 3;
  await rm(world.settings.SNAPSHOT_DIR, { recursive: true });
  await cp(saved, world.settings.SNAPSHOT_DIR, { recursive: true });
  await rm(join(world.settings.SIGNING_DIR, 'head'), { force: true });
});

/** Reads another figure. */
async function ingestNight(): Promise<void> {
  world.tomorrow();
  await world.ingestSeries({
    one: { cells: [['FRA', 2000, world.clock]] },
    two: { cells: [['DEU', 2000, 2]] },
  });
}

const renderedIds = async (): Promise<string[]> => {
  const found: string[] = [];
  for (const id of await world.snapshots.ids()) {
    const files = await world.snapshots.prerendered(await world.snapshots.open(id));
    if (files === null) continue;
    await verifyFiles(world.snapshots, files);
    found.push(id);
  }
  return found;
};

async function expectKeptFiles(): Promise<void> {
  for (const id of ids) await verifyFiles(world.snapshots, (await world.snapshots.open(id)).kept);
}

const storedObjects = async (): Promise<string[]> =>
  (await readdir(world.settings.SNAPSHOT_DIR, { recursive: true }))
    .filter((path) => /^objects\/..\/[0-9a-f]{64}$/.test(path))
    .map((path) => path.slice(-64))
    .sort();

async function plant({ sha256 }: Pick<FileRef, 'sha256'>): Promise<void> {
  const path = world.snapshots.pathOf({ sha256 });
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, 'of a build that crashed');
}

const gc = (isRemoved: boolean) => collectGarbage(world.snapshots, world.settings.SNAPSHOT_KEEP, isRemoved);

describe('retention', () => {
  it('leaves nothing for gc after a build', async () => {
    expect(await gc(false)).toEqual({ objects: [], bytes: 0, snapshots: [] });
  });

  it('keeps the prerendered files of the served snapshot, however old it is', async () => {
    await world.rollback(ids[2]);
    world.settings.SNAPSHOT_KEEP = 1;
    expect((await gc(true)).snapshots).toEqual([ids[3]]);
    expect(await renderedIds()).toEqual([ids[2], ids[4]]);
  });

  it('shows first what gc would remove, and removes exactly that', async () => {
    const unnamed = 'ab'.repeat(32);
    await plant({ sha256: unnamed });
    world.settings.SNAPSHOT_KEEP = 2;
    const before = await storedObjects();
    const shown = await gc(false);
    expect(await storedObjects()).toEqual(before);
    expect(shown.snapshots).toEqual([ids[2]]);
    const hashes = new Set(shown.objects.map(({ sha256 }) => sha256));
    expect(hashes).toContain(unnamed);
    expect(await gc(true)).toEqual(shown);
    expect(await storedObjects()).toEqual(before.filter((sha256) => !hashes.has(sha256)));
    expect(await renderedIds()).toEqual(ids.slice(3));
    await expectKeptFiles();
  });

  it('finishes an interrupted removal', async () => {
    const manifest = await world.snapshots.manifest(ids[2] ?? '');
    const files = (await world.snapshots.prerendered({ manifest })) ?? {};
    await rm(world.snapshots.pathOf(manifest.prerendered));
    const { objects } = await gc(true);
    expect(objects.length).toBeGreaterThan(0);
    const named = new Set(Object.values(files).map(({ sha256 }) => sha256));
    expect(objects.every(({ sha256 }) => named.has(sha256))).toBe(true);
    expect(await gc(false)).toMatchObject({ objects: [] });
    await expectKeptFiles();
  });

  it('removes nothing while a build runs, or when a list cannot be read', async () => {
    await plant({ sha256: 'ab'.repeat(32) });
    const before = await storedObjects();
    const lock = await acquireLock(world.snapshots.lockFile, 'the snapshot');
    await expect(gc(true)).rejects.toThrow(LockHeldError);
    await lock.release();
    const [list = { sha256: '' }] = Object.values((await world.snapshots.manifest(ids[0] ?? '')).providers);
    await rm(world.snapshots.pathOf(list));
    await expect(gc(true)).rejects.toThrow(/list of atlas of .* cannot be read/);
    expect(await storedObjects()).toEqual(before.filter((sha256) => sha256 !== list.sha256));
  });
});

describe('gc killed at any moment', () => {
  /** Starts gc, kills it once few enough objects are left, and waits for its end. */
  async function killedGc(isTime: () => Promise<boolean>): Promise<void> {
    const { VAR_DIR, CURATED_DIR } = world.settings;
    const env = { VAR_DIR, CURATED_DIR, LOG_LEVEL: 'silent', SNAPSHOT_KEEP: '1' };
    const child = spawn(process.execPath, [MAIN, 'gc', '--yes'], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    let hasEnded = false;
    const closed = once(child, 'close').then(() => {
      hasEnded = true;
    });
    while (!hasEnded && !(await isTime()));
    child.kill('SIGKILL');
    await closed;
    for (const lock of ['.lock', '.pointer']) await expireLock(join(world.settings.SNAPSHOT_DIR, lock));
  }

  it('loses nothing that a snapshot names', async () => {
    const full = (await storedObjects()).length;
    for (let kill = 0; kill < KILLS; kill += 1) {
      for (let count = 0; count < UNNAMED; count += 1)
        await plant({ sha256: `${kill}`.padStart(2, '0') + `${count}`.padStart(62, '0') });
      const before = (await storedObjects()).length;
      const share = Math.random();
      await killedGc(async () => (await storedObjects()).length < before - share * 100);
      await expectKeptFiles();
      await renderedIds();
    }
    world.settings.SNAPSHOT_KEEP = 1;
    await gc(true);
    expect(await renderedIds()).toEqual(ids.slice(3));
    await expectKeptFiles();
    expect((await storedObjects()).length).toBeLessThan(full);
    expect(await gc(false)).toMatchObject({ objects: [] });
  });
});

describe('rollback', () => {
  it('to a snapshot without its prerendered files is refused', async () => {
    await expect(world.rollback(ids[0])).rejects.toThrow('cannot be served');
    expect(await world.snapshots.currentId()).toBe(ids[4]);
  });

  it('wins over a build that had begun before', async () => {
    await ingestNight();
    let isRolledBack = false;
    const onProgress = ({ step }: { step: string }): void => {
      if (step === 'relations' && !isRolledBack) void world.rollback(ids[2]);
      isRolledBack ||= step === 'relations';
    };
    const building = world.build({ observer: { onProgress } });
    await expect(building).rejects.toThrow('another snapshot was served during the build');
    expect(await world.snapshots.currentId()).toBe(ids[2]);
    expect(await world.snapshots.ids()).toEqual(ids);
    expect((await world.build()).is_new).toBe(true);
  });
});

describe('the scrub', () => {
  const all = (night_ms?: number) =>
    scrub(world.snapshots, { keep: 3, ...(night_ms === undefined ? {} : { night_ms }) });

  /** Changes the content of a file that only the first snapshot has. */
  async function damageFirst(): Promise<string> {
    const { kept } = await world.snapshots.open(ids[0] ?? '');
    const { sha256 } = kept['observations/atlas.one.parquet'] ?? { sha256: '' };
    await writeFile(world.snapshots.pathOf({ sha256 }), 'other bytes');
    return sha256;
  }

  it('reads every object once in its nights', async () => {
    const whole = await all();
    expect(whole.damaged).toEqual([]);
    expect(whole.objects).toBe((await storedObjects()).length);
    let sum = 0;
    for (let night = 0; night < SCRUB_NIGHTS; night += 1) {
      sum += (await all(world.clock + night * 86_400_000)).objects;
    }
    expect(sum).toBe(whole.objects);
  });

  it('names what is damaged or missing, in any snapshot', async () => {
    await damageFirst();
    await rm(join(world.settings.SNAPSHOT_DIR, 'editions', `${ids[1]}.json`));
    await plant({ sha256: 'ab'.repeat(32) });
    const { damaged } = await scrub(world.snapshots, { keep: 3 });
    expect(damaged.map((fault) => fault.replace(/:.*/, ''))).toEqual([
      `the manifest of ${ids[1]} is missing`,
      `observations/atlas.one.parquet of ${ids[0]} is damaged`,
    ]);
  });

  it('is part of the nightly run, which then exits 3', async () => {
    const sha256 = await damageFirst();
    while (!(await all(world.clock)).damaged.length) world.tomorrow();
    const summary = await nightly({ ...(await world.dependencies()) });
    expect(summary.damaged).toEqual([expect.stringContaining(sha256)]);
    expect(nightlyExitCode(summary)).toBe(3);
  });
});
