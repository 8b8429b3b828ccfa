/** The private key and the memory of the last signed head, in a backup and after a restore. */
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createBackup } from '../../../build/backup/backup.ts';
import { restoreBackup } from '../../../build/backup/restore.ts';
import type { TreeSettings } from '../../../build/backup/trees.ts';
import { SnapshotStorage } from '../../../build/editions/snapshot-storage.ts';
import type { LogEntry } from '../../../data/schema/snapshot.ts';
import { useDirectory } from '../../after-tests.ts';
import { flushRedis, useRedis } from '../../redis.ts';
import { contents, createBackupFixture, headOf, settingsIn, writeFiles } from './backup-fixture.ts';

let targets = 0;

const readLog = async (directory: string): Promise<LogEntry[]> =>
  (await new SnapshotStorage(directory).log()).editions;
const writeLog = (directory: string, editions: LogEntry[]): Promise<void> =>
  new SnapshotStorage(directory).writeLog({ editions, checkpoint: headOf(editions), rollbacks: [] });

const server = await useRedis();
const redis = await server.connect();
const dir = await useDirectory();
const backup = join(dir, 'backup');
const settings = settingsIn(join(dir, 'home'));
await createBackupFixture(redis, settings);
const [first] = await readLog(settings.SNAPSHOT_DIR);
if (!first) throw new Error('the fixture has no edition');
/** Three editions, of which the backup has the first two and remembers the head of two. */
const log = [first, { ...first, root: '1'.repeat(64) }, { ...first, root: '2'.repeat(64) }];
await writeLog(settings.SNAPSHOT_DIR, log.slice(0, 2));
await writeFile(join(settings.SIGNING_DIR, 'head'), headOf(log.slice(0, 2)));
await createBackup({ redis, settings, now: Date.now }, backup);
const all = await contents(settings);
beforeEach(() => flushRedis(redis));

const target = (): TreeSettings => settingsIn(join(dir, `target-${targets++}`));

/** A machine that remembers the head of a log with these editions. */
async function remembering(editions: readonly LogEntry[]): Promise<TreeSettings> {
  const settings = target();
  await writeFiles(settings.VAR_DIR, { 'signing/head': headOf(editions) });
  return settings;
}

describe('the signing directory', () => {
  it('is in the backup and comes back, readable by its owner alone', async () => {
    const settings = target();
    await restoreBackup({ redis, settings }, backup);
    expect(await contents(settings)).toEqual(all);
    expect([...all.keys()].filter((name) => name.startsWith('signing/')).sort()).toEqual([
      'signing/head',
      'signing/key',
    ]);
    const modes = [join(backup, 'signing/key'), join(settings.SIGNING_DIR, 'key'), settings.SIGNING_DIR];
    const found = await Promise.all(modes.map(async (path) => (await stat(path)).mode & 0o777));
    expect(found).toEqual([0o600, 0o600, 0o700]);
  });

  it('holds only the head when the key is a setting', async () => {
    const settings = settingsIn(join(dir, 'home'));
    const key = join(settings.SIGNING_DIR, 'key');
    const text = await readFile(key);
    await rm(key);
    const to = join(dir, 'with-setting');
    await createBackup({ redis, settings, now: Date.now }, to);
    await writeFile(key, text, { mode: 0o600 });
    const restored = target();
    await restoreBackup({ redis, settings: restored }, to);
    const names = [...(await contents(restored)).keys()];
    expect(names.filter((name) => name.startsWith('signing/'))).toEqual(['signing/head']);
  });
});

describe('a restore onto a machine that has signed', () => {
  const forks: [string, () => LogEntry[], string][] = [
    ['more editions', () => log, 'has 2 editions, fewer than the 3 that were signed here'],
    ['other editions', () => log.slice(1), 'has 2 editions, others than those that were signed here'],
  ];
  it.each(forks)(
    'with %s than the backup is refused, also with `force`, and nothing changes',
    async (_name, signed, sentence) => {
      const settings = await remembering(signed());
      await writeFiles(settings.VAR_DIR, { 'snapshots/current': 'was here' });
      await redis.set('key', 'value');
      const before = await contents(settings);
      for (const force of [false, true])
        await expect(restoreBackup({ redis, settings }, backup, { force })).rejects.toThrow(sentence);
      expect(await contents(settings)).toEqual(before);
      expect(await redis.get('key')).toBe('value');
    },
  );

  it('the beginning of the log needs `force`, and remembers the newer head then', async () => {
    const settings = await remembering(log.slice(0, 1));
    await expect(restoreBackup({ redis, settings }, backup)).rejects.toThrow(
      /signing\/head is not as in the backup: .*--force/,
    );
    await restoreBackup({ redis, settings }, backup, { force: true });
    expect(await contents(settings)).toEqual(all);
  });

  it('more of the log than the head in the backup tells never remembers less', async () => {
    const settings = settingsIn(join(dir, 'home'));
    // A publication between the copies of the head and of the log.
    await writeLog(settings.SNAPSHOT_DIR, log);
    const raced = join(dir, 'raced');
    await createBackup({ redis, settings, now: Date.now }, raced);
    await writeLog(settings.SNAPSHOT_DIR, log.slice(0, 2));
    const machine = await remembering(log);
    await restoreBackup({ redis, settings: machine }, raced);
    expect(await readFile(join(machine.SIGNING_DIR, 'head'), 'utf8')).toBe(headOf(log));
    expect((await readLog(machine.SNAPSHOT_DIR)).length).toBe(3);
  });
});
