/** What backup and restore refuse, without changing anything; and their command line. */
import { existsSync } from 'node:fs';
import { cp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createBackup } from '../../../build/backup/backup.ts';
import { run as runCommand } from '../../../build/backup/cli.ts';
import { BACKUP_FORMAT, manifestText } from '../../../build/backup/format.ts';
import { restoreBackup } from '../../../build/backup/restore.ts';
import { backupTrees } from '../../../build/backup/trees.ts';
import { startPrivateRedis } from '../../../data/runtime/private-redis.ts';
import { useDirectory } from '../../after-tests.ts';
import { flushRedis, useRedis } from '../../redis.ts';
import { connected } from '../../redis-server.ts';
import { contents, createBackupFixture, settingsIn, writeFiles } from './backup-fixture.ts';

let copies = 0;

const server = await useRedis();
const redis = await server.connect();
const dir = await useDirectory();
const whole = join(dir, 'whole');
const settings = settingsIn(join(dir, 'home'));
const { world } = await createBackupFixture(redis, settings);
await createBackup({ redis, settings, now: () => world.clock.ms }, whole);
const all = await contents(settings);
beforeEach(() => flushRedis(redis));

/** A copy of the backup for a test to damage. */
async function copyOfBackup(): Promise<string> {
  const copy = join(dir, `copy-${copies++}`);
  await cp(whole, copy, { recursive: true });
  return copy;
}

async function changeByte(file: string, at = -20): Promise<void> {
  const bytes = await readFile(file);
  const place = bytes.length + at;
  bytes[place] = (bytes[place] ?? 0) ^ 1;
  await writeFile(file, bytes);
}

const snapshotFile = async (backup: string): Promise<string> => {
  const names = await readdir(join(backup, 'snapshots'), { recursive: true });
  return join('snapshots', names.find((name) => /[0-9a-f]{64}$/.test(name)) ?? '');
};

describe('a damaged backup', () => {
  const damages: [string, (backup: string) => Promise<string>][] = [
    ['without its manifest', (backup) => rm(join(backup, 'manifest.json')).then(() => 'no manifest.json')],
    [
      'with a changed manifest',
      (backup) => changeByte(join(backup, 'manifest.json')).then(() => 'manifest.json is damaged'),
    ],
    [
      'with a manifest that leaves a file out',
      async (backup) => {
        const text = await readFile(join(backup, 'manifest.json'), 'utf8');
        const shorter = text.replace(/"lake\/overrides\.json":\{[^}]*\},/, '');
        expect(shorter.length).toBeLessThan(text.length);
        await writeFile(join(backup, 'manifest.json'), shorter);
        return 'manifest.json is damaged';
      },
    ],
    [
      'with an empty manifest',
      (backup) => writeFile(join(backup, 'manifest.json'), 'null').then(() => 'manifest.json is damaged'),
    ],
    [
      'with a changed byte in Redis',
      (backup) => changeByte(join(backup, 'redis.ndjson')).then(() => 'redis.ndjson is not what'),
    ],
    [
      'with a shorter Redis',
      (backup) => truncate(join(backup, 'redis.ndjson'), 100).then(() => 'redis.ndjson is not what'),
    ],
    [
      'with a changed byte in a snapshot',
      async (backup) => {
        const file = await snapshotFile(backup);
        await changeByte(join(backup, file));
        return `${file} is not what`;
      },
    ],
    [
      'with a missing file',
      async (backup) => {
        const file = await snapshotFile(backup);
        await rm(join(backup, file));
        return `${file} is missing`;
      },
    ],
    [
      'of a newer format',
      (backup) =>
        reseal(backup, (manifest) => ({ ...manifest, format: BACKUP_FORMAT + 1 })).then(() => 'has format 3'),
    ],
    [
      'with a name that leads elsewhere',
      (backup) =>
        reseal(backup, (manifest) => ({
          ...manifest,
          files: { ...manifest.files, 'curated/../../x': { bytes: 0, sha256: '0'.repeat(64) } },
        })).then(() => 'manifest.json is damaged'),
    ],
  ];
  it.each(damages)('%s is refused, and nothing changes', async (_name, damage) => {
    const backup = await copyOfBackup();
    const sentence = await damage(backup);
    const settings = settingsIn(join(dir, `target-${copies}`));
    await expect(restoreBackup({ redis, settings }, backup, { force: true })).rejects.toThrow(sentence);
    expect(await redis.dbsize()).toBe(0);
    expect(existsSync(settings.VAR_DIR)).toBe(false);
  });

  type Manifest = Parameters<typeof manifestText>[0];
  async function reseal(backup: string, change: (manifest: Manifest) => object): Promise<void> {
    const file = join(backup, 'manifest.json');
    const { manifest } = JSON.parse(await readFile(file, 'utf8')) as { manifest: Manifest };
    await writeFile(file, manifestText(change(manifest) as Manifest));
  }
});

describe('a target that is not empty', () => {
  it.each(['archive/ledger/x/entries.parquet', 'lake/x/current', 'snapshots/current', 'curated/more.yaml'])(
    'with %s is refused, and replaced with `force`',
    async (path) => {
      const settings = settingsIn(join(dir, `target-${copies++}`));
      await writeFiles(settings.VAR_DIR, { [path]: 'was here', 'curated/kept.ts': 'code' });
      await expect(restoreBackup({ redis, settings }, whole)).rejects.toThrow(/--force/);
      expect(await redis.dbsize()).toBe(0);
      expect([...(await contents(settings)).keys()]).toEqual([path]);
      await restoreBackup({ redis, settings }, whole, { force: true });
      expect(await contents(settings)).toEqual(all);
      expect(existsSync(join(settings.CURATED_DIR, 'kept.ts'))).toBe(true);
    },
  );

  it('with one key in Redis is refused; identical curated data are accepted and left in place', async () => {
    const settings = settingsIn(join(dir, `target-${copies++}`));
    await redis.set('key', 'value');
    await expect(restoreBackup({ redis, settings }, whole)).rejects.toThrow(
      /Redis is not empty, it has 1 keys/,
    );
    expect(await redis.get('key')).toBe('value');
    await flushRedis(redis);
    await cp(join(whole, 'curated'), settings.CURATED_DIR, { recursive: true });
    const topics = join(settings.CURATED_DIR, 'topics.yaml');
    const { ino } = await stat(topics);
    await restoreBackup({ redis, settings }, whole);
    expect(await contents(settings)).toEqual(all);
    expect((await stat(topics)).ino).toBe(ino);
    expect(await redis.dbsize()).toBeGreaterThan(50);
  });

  it('is refused for a backup, and so is a directory inside or around the data', async () => {
    const settings = settingsIn(join(dir, 'home'));
    const to = (place: string): Promise<unknown> => createBackup({ redis, settings, now: Date.now }, place);
    await expect(to(whole)).rejects.toThrow(/is not empty/);
    for (const { directory } of backupTrees(settings)) {
      await expect(to(join(directory, 'backup'))).rejects.toThrow(/choose another place/);
      await expect(restoreBackup({ redis, settings }, directory, { force: true })).rejects.toThrow(
        /another place/,
      );
    }
    await expect(to(dir)).rejects.toThrow(/choose another place/);
    expect(await contents(settings)).toEqual(all);
  });
});

describe('the command line', () => {
  async function run(home: string, ...args: string[]): Promise<{ code: number; out: string; err: string }> {
    const env = { VAR_DIR: home, CURATED_DIR: join(home, 'curated'), LOG_LEVEL: 'silent' };
    const output = { out: '', err: '' };
    const writer = (name: keyof typeof output) => ({ write: (text: string) => (output[name] += text) });
    const code = await runCommand(args, { env, stdout: writer('out'), stderr: writer('err') });
    return { code, ...output };
  }

  it('moves everything from a running private Redis to one that is not running', async () => {
    const [from, to, backup] = ['from', 'to', 'moved'].map((name) => join(dir, name)) as [
      string,
      string,
      string,
    ];
    const held = await startPrivateRedis(settingsIn(from).REDIS_DIR);
    try {
      const client = await connected(held.url);
      await createBackupFixture(client, settingsIn(from));
      const keys = await client.dbsize();
      expect(await run(from, 'backup', '--to', backup, '--json')).toMatchObject({ code: 0, err: '' });
      expect(await run(from, 'restore', '--from', backup, '--force')).toEqual({
        code: 1,
        out: '',
        err: 'the service is running on this Redis: stop gateways and workers first\n',
      });
      // The note of when the backup was finished.
      expect(await client.dbsize()).toBe(keys + 1);
      client.disconnect();
      const restored = await run(to, 'restore', '--from', backup, '--json');
      expect(restored).toMatchObject({ code: 0, err: '' });
      expect(JSON.parse(restored.out)).toMatchObject({ keys });
      expect(await contents(settingsIn(to))).toEqual(await contents(settingsIn(from)));
      const again = await run(to, 'restore', '--from', backup);
      expect(again.code).toBe(1);
      expect(again.err).toMatch(/^Redis is not empty, it has \d+ keys: .*--force.*\n$/);
      expect(await run(to, 'restore')).toMatchObject({ code: 2, out: '' });
    } finally {
      await held.stop();
    }
  });
});
