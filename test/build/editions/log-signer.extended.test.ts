/** The key of the log, its rotation, and that two logs are never signed under one name. */
import { cp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { LogSigner } from '../../../build/editions/log-signer.ts';
import { SnapshotStorage } from '../../../build/editions/snapshot-storage.ts';
import { generateSigningKey, parseSigningKey } from '../../../data/proofs/signing-key.ts';
import {
  type Checkpoint,
  type LogKey,
  parseKeys,
  readCheckpoint,
} from '../../../data/proofs/verify-receipt.ts';
import { takenBack } from '../../../data/schema/editions.ts';
import { World } from '../world.ts';

let world: World;
beforeEach(async () => {
  world = await World.ofTest();
});

let figure = 0;
/** Publishes an edition with other figures than before. */
async function publish(): Promise<Checkpoint> {
  figure += 1;
  await world.publish('atlas', { one: { cells: [['FRA', 2000, figure]] } });
  await world.ingest('atlas');
  await world.build();
  world.tomorrow();
  return readCheckpoint((await world.snapshots.log()).checkpoint, await keys());
}
const keys = async (): Promise<LogKey[]> =>
  parseKeys(await readFile(join(world.settings.SNAPSHOT_DIR, 'keys.json'), 'utf8'));
const signer = (): LogSigner => new LogSigner(world.settings, world.snapshots);
const head = (): string => join(world.settings.SIGNING_DIR, 'head');
const copy = (name: string): string => join(world.directory, name);

describe('the key', () => {
  it('is made once, readable by its owner alone, and named after the public URL', async () => {
    Object.assign(world.settings, { PUBLIC_URL: 'https://almanac.example/data/' });
    const first = await publish();
    const second = await publish();
    expect([first.origin, first.size, second.size]).toEqual(['almanac.example/data/log', 1, 2]);
    expect(second.signedBy).toEqual(first.signedBy);
    const file = join(world.settings.SIGNING_DIR, 'key');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(parseSigningKey(await readFile(file, 'utf8')).id).toBe(first.signedBy[0]);
    expect(await keys()).toMatchObject([{ from: 1, to: null }]);
  });

  it('counts for the sizes that it signed, before and after a rotation', async () => {
    const first = await publish();
    const earlier = (await world.snapshots.log()).checkpoint;
    await signer().rotate();
    const { id } = await signer().rotate();
    const second = await publish();
    expect(second.signedBy).toEqual([id]);
    expect(second.signedBy).not.toEqual(first.signedBy);
    const list = await keys();
    // The key that signed nothing is not named.
    expect(list.map((key) => [key.id, key.from, key.to])).toEqual([
      [first.signedBy[0], 1, 1],
      [id, 2, null],
    ]);
    expect(readCheckpoint(earlier, list).signedBy).toEqual(first.signedBy);
  });

  it('may come from a setting, which the operator then replaces', async () => {
    const one = generateSigningKey('almanac.example/log');
    Object.assign(world.settings, { SIGNING_KEY: one });
    expect((await publish()).signedBy).toEqual([parseSigningKey(one).id]);
    const { id, setting } = await signer().rotate();
    Object.assign(world.settings, { SIGNING_KEY: setting });
    expect((await publish()).signedBy).toEqual([id]);
    Object.assign(world.settings, { SIGNING_KEY: generateSigningKey('other.example/log') });
    await expect(publish()).rejects.toThrow('the signing key is of the log other.example/log');
  });
});

describe('a log that lacks signed editions', () => {
  it('is refused before anything is built, and nothing of it changes', async () => {
    await publish();
    await cp(world.settings.SNAPSHOT_DIR, copy('restored'), { recursive: true });
    await publish();
    await rm(world.settings.SNAPSHOT_DIR, { recursive: true });
    await cp(copy('restored'), world.settings.SNAPSHOT_DIR, { recursive: true });
    await expect(publish()).rejects.toThrow('the log has 1 editions, fewer than the 2 that were signed');
    expect((await world.snapshots.log()).editions).toHaveLength(1);
  });

  it('is refused when other editions have taken their place', async () => {
    await publish();
    const log = await world.snapshots.log();
    const rewritten = log.editions.map((entry) => ({ ...entry, root: '0'.repeat(64) }));
    await world.snapshots.writeLog({ ...log, editions: rewritten });
    await expect(publish()).rejects.toThrow('the log has 1 editions, others than those that were signed');
  });

  it.each(['writeLog', 'serve'] as const)(
    'is not what a crash before %s leaves: the head is remembered, and its edition was never served',
    async (step) => {
      await publish();
      const served = await world.snapshots.currentId();
      vi.spyOn(SnapshotStorage.prototype, step).mockRejectedValueOnce(new Error('crashed'));
      await expect(publish()).rejects.toThrow('crashed');
      expect(readCheckpoint(await readFile(head(), 'utf8'), await keys()).size).toBe(2);
      expect(await world.snapshots.currentId()).toBe(served);
      world.tomorrow();
      expect(await publish()).toMatchObject({ size: 3 });
      const log = await world.snapshots.log();
      const [, crashed = '', newest = ''] = log.editions.map(({ edition }) => edition);
      expect([...takenBack(log, newest)]).toEqual([[crashed, null]]);
      expect((await readdir(world.settings.SIGNING_DIR)).sort()).toEqual(['head', 'key']);
    },
  );

  it('is refused when the log that was signed last names editions that a restored copy lacks', async () => {
    await publish();
    await cp(world.settings.SNAPSHOT_DIR, copy('restored'), { recursive: true });
    vi.spyOn(SnapshotStorage.prototype, 'writeLog').mockRejectedValueOnce(new Error('crashed'));
    await expect(publish()).rejects.toThrow('crashed');
    await rm(world.settings.SNAPSHOT_DIR, { recursive: true });
    await cp(copy('restored'), world.settings.SNAPSHOT_DIR, { recursive: true });
    await expect(publish()).rejects.toThrow('fewer than the 2 that were signed');
  });
});
