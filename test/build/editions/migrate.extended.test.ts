/** A store of the earlier version becomes editions by itself. Its answers are compared in test/gateway/migrated.test.ts. */
import { appendFile, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { run } from '../../../build/cli.ts';
import { migrateStore } from '../../../build/editions/migrate.ts';
import { verifyFiles } from '../../../build/editions/verify.ts';
import { observationsFile } from '../../../data/schema/snapshot.ts';
import { readKept } from '../../shown-snapshot.ts';
import type { World } from '../world.ts';
import { OLD_IDS, oldWorldBeforeEach } from './old-layout.ts';

const [FIRST, SECOND, THIRD, FOURTH] = OLD_IDS;
let world: World;
const oldStore = oldWorldBeforeEach();
beforeEach(() => {
  world = oldStore();
});

const migrate = async () => migrateStore(await world.dependencies());
const oldFile = (id: string, name: string): string => join(world.settings.SNAPSHOT_DIR, id, name);
const oldJson = async (id: string, name: string) => JSON.parse(await readFile(oldFile(id, name), 'utf8'));
const directories = async (): Promise<string[]> =>
  (await readdir(world.settings.SNAPSHOT_DIR)).filter((name) => /^\d{8}T/.test(name)).sort();

async function ingestNight(): Promise<void> {
  world.tomorrow(10);
  await world.publish('atlas', { one: { cells: [['FRA', 2000, 5]] } });
  await world.publish('census', { pop: { cells: [['FRA', 2000, 6]] } });
  await world.ingest('atlas');
  await world.ingest('census');
}

describe('the migration', () => {
  it('keeps ids, times, bytes and the pointer', async () => {
    expect(await migrate()).toEqual(OLD_IDS);
    expect(await world.snapshots.currentId()).toBe(THIRD);
    const { editions } = await world.snapshots.log();
    expect(editions.map(({ edition, base }) => [edition, base])).toEqual([
      [FIRST, null],
      [SECOND, FIRST],
      [THIRD, SECOND],
      [FOURTH, THIRD],
    ]);
    for (const id of OLD_IDS) {
      const { manifest, kept } = await world.snapshots.open(id);
      const { files, generated_at, counts, runs } = await oldJson(id, 'manifest.json');
      expect(manifest).toMatchObject({ id, generated_at, counts, runs });
      const prerendered = await world.snapshots.prerendered({ manifest });
      await verifyFiles(world.snapshots, { ...kept, ...prerendered });
      const converted = ['catalogue.json', 'latest.parquet', 'sources.json', 'quality.json', 'twins.json'];
      const unchanged = Object.entries(files).filter(([name]) => !converted.includes(name));
      expect({ ...kept, ...prerendered }).toMatchObject(Object.fromEntries(unchanged));
    }
  });

  it('tells what changed from one to the next', async () => {
    await migrate();
    const { editions } = await world.snapshots.log();
    expect(editions.map(({ changed }) => changed)).toEqual([
      {},
      { atlas: { added: 0, withdrawn: 0, renamed: 0, revised: 1 } },
      {
        atlas: { added: 0, withdrawn: 1, renamed: 0, revised: 0 },
        census: { added: 1, withdrawn: 0, renamed: 0, revised: 0 },
      },
      { atlas: { added: 0, withdrawn: 0, renamed: 0, revised: 1 } },
    ]);
  });

  it('takes no space for files that stay as they are', async () => {
    await migrate();
    const { kept } = await world.served();
    const name = observationsFile('atlas.one');
    const [before, object] = [oldFile(THIRD, name), world.snapshots.pathOf(kept[name] ?? { sha256: '' })];
    expect((await stat(object)).ino).toBe((await stat(before)).ino);
  });

  it('does nothing the second time, and leaves the directories for gateways of the earlier version', async () => {
    await migrate();
    const log = await world.snapshots.log();
    expect(await migrate()).toEqual([]);
    expect(await world.snapshots.log()).toEqual(log);
    expect(await directories()).toEqual(OLD_IDS);
  });

  it('continues where it was interrupted', async () => {
    await migrate();
    const { editions, checkpoint } = await world.snapshots.log();
    await world.snapshots.writeLog({ editions: editions.slice(0, 2), checkpoint });
    await rm(join(world.settings.SIGNING_DIR, 'head'));
    expect(await migrate()).toEqual([THIRD, FOURTH]);
    expect((await world.snapshots.log()).editions).toEqual(editions);
  });

  it('leaves out a damaged snapshot and its directory', async () => {
    await appendFile(oldFile(SECOND, observationsFile('atlas.one')), 'x');
    expect(await migrate()).toEqual([FIRST, THIRD, FOURTH]);
    await ingestNight();
    await world.build();
    expect(await directories()).toEqual([SECOND]);
  });

  it('precedes a build, which removes the directories, and remembers the terms of vanished series', async () => {
    await ingestNight();
    const { snapshot } = await world.build();
    const { editions } = await world.snapshots.log();
    expect(editions.map(({ edition }) => edition)).toEqual([...OLD_IDS, snapshot]);
    expect(editions.at(-1)?.base).toBe(THIRD);
    expect(await directories()).toEqual([]);
    expect(await readKept(await world.served(), 'terms/atlas.json')).toMatchObject([
      { id: 'atlas.two', access_tier: 'open' },
    ]);
  });

  it('precedes a push', async () => {
    const { directory, settings } = world;
    const env = { VAR_DIR: directory, CURATED_DIR: settings.CURATED_DIR, LOG_LEVEL: 'silent' };
    const output = { write: () => true };
    const { signal } = new AbortController();
    const target = join(directory, 'origin');
    expect(await run(['push', '--to', target], { env, stdout: output, stderr: output, signal })).toBe(0);
    expect(await readFile(join(target, 'current'), 'utf8')).toBe(THIRD);
  });
});
