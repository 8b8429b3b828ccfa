/** What backup and restore refuse, and that they have touched nothing then; and both on the command line. */

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createBackup } from '../../../build/backup/backup.ts';
import { BACKUP_FORMAT, manifestText } from '../../../build/backup/format.ts';
import { restore } from '../../../build/backup/restore.ts';
import { treesOf } from '../../../build/backup/trees.ts';
import { startPrivateRedis } from '../../../data/runtime/private-redis.ts';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { flushRedis, startRedis, type TestRedis } from '../../redis.ts';
import { connected } from '../../redis-server.ts';
import { contents, furnish, settingsIn, temporary, writeFiles } from './backup-fixture.ts';

let server: TestRedis;
let redis: RedisClient;
let dir: string;
let whole: string;
let copies = 0;
let all: Map<string, string>;

beforeAll(async () => {
  server = await startRedis();
  redis = await server.connect();
  dir = await temporary();
  whole = join(dir, 'whole');
  const settings = settingsIn(join(dir, 'home'));
  const { world } = await furnish(redis, settings);
  await createBackup({ redis, settings, now: () => world.clock.ms }, whole);
  all = await contents(settings);
});
afterAll(async () => {
  await server.stop();
  await rm(dir, { recursive: true, force: true });
});
beforeEach(() => flushRedis(redis));

/** A copy of the backup, to be spoiled. */
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
  return join('snapshots', names.find((name) => name.endsWith('.parquet')) ?? '');
};

describe('a backup that is not what was written', () => {
  const spoilt: [string, (backup: string) => Promise<string>][] = [
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
        reseal(backup, (manifest) => ({ ...manifest, format: BACKUP_FORMAT + 1 })).then(() => 'has format 2'),
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
  it.each(spoilt)('%s is refused with a sentence, and nothing is touched', async (_name, spoil) => {
    const backup = await copyOfBackup();
    const sentence = await spoil(backup);
    const settings = settingsIn(join(dir, `target-${copies}`));
    await expect(restore({ redis, settings }, backup, { force: true })).rejects.toThrow(sentence);
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

describe('a place that is not empty', () => {
  it.each(['archive/ledger/x/entries.parquet', 'lake/x/current', 'snapshots/current', 'curated/more.yaml'])(
    'with %s is left as it is, unless it is to be replaced',
    async (path) => {
      const settings = settingsIn(join(dir, `target-${copies++}`));
      await writeFiles(settings.VAR_DIR, { [path]: 'was here', 'curated/kept.ts': 'code' });
      await expect(restore({ redis, settings }, whole)).rejects.toThrow(/--force/);
      expect(await redis.dbsize()).toBe(0);
      expect([...(await contents(settings)).keys()]).toEqual([path]);
      await restore({ redis, settings }, whole, { force: true });
      expect(await contents(settings)).toEqual(all);
      expect(existsSync(join(settings.CURATED_DIR, 'kept.ts'))).toBe(true);
    },
  );

  it('with one key in Redis is left as it is; curated data that say the same are not in the way', async () => {
    const settings = settingsIn(join(dir, `target-${copies++}`));
    await redis.set('key', 'value');
    await expect(restore({ redis, settings }, whole)).rejects.toThrow(/Redis is not empty, it has 1 keys/);
    expect(await redis.get('key')).toBe('value');
    await flushRedis(redis);
    await cp(join(whole, 'curated'), settings.CURATED_DIR, { recursive: true });
    const topics = join(settings.CURATED_DIR, 'topics.yaml');
    const { ino } = await stat(topics);
    await restore({ redis, settings }, whole);
    expect(await contents(settings)).toEqual(all);
    expect((await stat(topics)).ino).toBe(ino);
    expect(await redis.dbsize()).toBeGreaterThan(50);
  });

  it('takes no backup, and none lies in what it holds', async () => {
    const settings = settingsIn(join(dir, 'home'));
    const to = (place: string): Promise<unknown> => createBackup({ redis, settings, now: Date.now }, place);
    await expect(to(whole)).rejects.toThrow(/is not empty/);
    for (const { directory } of treesOf(settings)) {
      await expect(to(join(directory, 'backup'))).rejects.toThrow(/choose another place/);
      await expect(restore({ redis, settings }, directory, { force: true })).rejects.toThrow(/another place/);
    }
    await expect(to(dir)).rejects.toThrow(/choose another place/);
    expect(await contents(settings)).toEqual(all);
  });
});

describe('the command line', () => {
  function run(home: string, ...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
    const settings = {
      VAR_DIR: home,
      CURATED_DIR: join(home, 'curated'),
      REDIS_URL: '',
      LOG_LEVEL: 'silent',
    };
    const words = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
    // Through `env`, which adds to the environment of the tests.
    const child = spawn('env', [...words, process.execPath, 'build/backup/main.ts', ...args]);
    let [out, err] = ['', ''];
    child.stdout.on('data', (text) => (out += String(text)));
    child.stderr.on('data', (text) => (err += String(text)));
    return new Promise((settle) => child.once('close', (code) => settle({ code, out, err })));
  }

  it('moves everything from one private Redis, which runs, to another, which does not', async () => {
    const [from, to, backup] = ['from', 'to', 'moved'].map((name) => join(dir, name)) as [
      string,
      string,
      string,
    ];
    const held = await startPrivateRedis(settingsIn(from).REDIS_DIR);
    try {
      const client = await connected(held.url, false, []);
      await furnish(client, settingsIn(from));
      const keys = await client.dbsize();
      expect(await run(from, 'backup', '--to', backup, '--json')).toMatchObject({ code: 0, err: '' });
      expect(await run(from, 'restore', '--from', backup, '--force')).toEqual({
        code: 1,
        out: '',
        err: 'the service is running on this Redis: stop gateways and workers first\n',
      });
      expect(await client.dbsize()).toBe(keys);
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
