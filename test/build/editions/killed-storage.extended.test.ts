/** `gc` and the migration killed at any moment lose nothing that a snapshot names, and the next run finishes the work. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { migrateStore } from '../../../build/editions/migrate.ts';
import { collectGarbage } from '../../../build/editions/retention.ts';
import { verifyFiles } from '../../../build/editions/verify.ts';
import { expireLock } from '../../expire-lock.ts';
import type { World } from '../world.ts';
import { OLD_IDS, oldWorldBeforeEach } from './old-layout.ts';

const MAIN = fileURLToPath(new URL('../../../build/main.ts', import.meta.url));
const KILLS = 25;
/** Objects that nothing names, so that a removal takes a while. */
const UNNAMED = 4_000;

let world: World;

/** Starts a step, kills it when the condition holds, and waits for its end. */
async function killedStep(args: string[], isTime: () => Promise<boolean>): Promise<void> {
  const { VAR_DIR, CURATED_DIR } = world.settings;
  const env = { VAR_DIR, CURATED_DIR, LOG_LEVEL: 'silent', SNAPSHOT_KEEP: '1' };
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const closed = once(child, 'close');
  let hasEnded = false;
  void closed.then(() => {
    hasEnded = true;
  });
  while (!hasEnded && !(await isTime()));
  child.kill('SIGKILL');
  await closed;
  for (const lock of ['.lock', '.pointer']) await expireLock(join(world.settings.SNAPSHOT_DIR, lock));
}

const storedFiles = async (): Promise<number> =>
  (await readdir(join(world.settings.SNAPSHOT_DIR, 'objects'), { recursive: true })).length;

/** Every snapshot in the log has its kept files; one with a list of prerendered files has those. */
async function expectIntact(): Promise<string[]> {
  const rendered: string[] = [];
  for (const id of await world.snapshots.ids()) {
    const { manifest, kept } = await world.snapshots.open(id);
    await verifyFiles(world.snapshots, kept);
    const files = await world.snapshots.prerendered({ manifest });
    if (files === null) continue;
    await verifyFiles(world.snapshots, files);
    rendered.push(id);
  }
  return rendered;
}

const oldStore = oldWorldBeforeEach();
beforeEach(() => {
  world = oldStore();
});

describe('killed at any moment', () => {
  it('gc loses nothing that a snapshot names', async () => {
    await migrateStore(await world.dependencies());
    const full = await storedFiles();
    for (let kill = 0; kill < KILLS; kill += 1) {
      for (let count = 0; count < UNNAMED / KILLS; count += 1) {
        const hash = `${kill}`.padStart(2, '0') + `${count}`.padStart(62, '0');
        const path = world.snapshots.pathOf({ sha256: hash });
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, hash);
      }
      const before = await storedFiles();
      const share = Math.random();
      const isTime = async (): Promise<boolean> => (await storedFiles()) < before - share * 100;
      await killedStep(['gc', '--yes'], isTime);
      await expectIntact();
    }
    await collectGarbage(world.snapshots, 1, true);
    // The served one, the one served before it, and the newest, which was rolled back.
    expect(await expectIntact()).toEqual(OLD_IDS.slice(1));
    expect(await storedFiles()).toBeLessThan(full);
    expect(await collectGarbage(world.snapshots, 1, false)).toMatchObject({ objects: [] });
  });

  it('the migration continues', async () => {
    for (let kill = 0; kill < KILLS; kill += 1) {
      const wanted = Math.floor(Math.random() * 300);
      await killedStep(['migrate'], async () => (await storedFiles().catch(() => 0)) > wanted);
      await expectIntact();
      if ((await world.snapshots.ids()).length === OLD_IDS.length) break;
    }
    await migrateStore(await world.dependencies());
    expect(await world.snapshots.ids()).toEqual(OLD_IDS);
    expect(await expectIntact()).toEqual(OLD_IDS);
    const names = await readdir(world.settings.SNAPSHOT_DIR);
    expect(names.filter((name) => name.startsWith('.building'))).toEqual([]);
  });
});
