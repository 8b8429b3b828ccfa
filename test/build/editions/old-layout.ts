/** Four snapshots as version 0.1.0 published them, the third one served. A series vanishes in the third. */
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { World } from '../world.ts';
import { type StoredAnswers, storedWorld } from './stored-world.ts';

/** Oldest first. */
export const OLD_IDS = [
  '20261120T120000Z-6a34d429',
  '20261121T120000Z-571dc639',
  '20261122T120000Z-a2aae6f1',
  '20261123T120000Z-85b40c1d',
] as const;

/** A world whose store is that of the earlier version, and the recorded answers. */
export const oldWorld = (): Promise<{ world: World; answers: StoredAnswers }> =>
  storedWorld('old-layout.zip');

/** An old world for the tests of a file. Its store is that of the earlier version before each of them. */
export function oldWorldBeforeEach(): () => World {
  let world: World;
  let saved: string;
  beforeAll(async () => {
    ({ world } = await oldWorld());
    saved = join(world.directory, 'saved');
    await cp(world.settings.SNAPSHOT_DIR, saved, { recursive: true });
  });
  beforeEach(async () => {
    await rm(world.settings.SNAPSHOT_DIR, { recursive: true });
    await cp(saved, world.settings.SNAPSHOT_DIR, { recursive: true });
    await rm(world.settings.SIGNING_DIR, { recursive: true, force: true });
  });
  afterAll(() => world.remove());
  return () => world;
}
