/** A restore that is killed at any moment serves nothing half, and the next one with `--force` brings everything back. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { backUp } from '../../build/backup/backup.ts';
import { connectRedis, type RedisClient, whenReady } from '../../data/runtime/redis.ts';
import { expectSoundChain, wholeLedger } from '../archive/books.ts';
import { empty, everyKey, silentLog, startRedis, type TestRedis } from '../redis.ts';
import { contents, furnish, settingsIn, temporary } from './place.ts';

const KILLS = 12;
const UP_WITHIN_MS = 10_000;

let server: TestRedis;
let redis: RedisClient;
let dir: string;
let backup: string;
let files: Map<string, string>;
let keys: string[];

beforeAll(async () => {
  server = await startRedis();
  const gateway = await server.connect();
  dir = await temporary();
  backup = join(dir, 'backup');
  const settings = settingsIn(join(dir, 'home'));
  const { world } = await furnish(gateway, settings);
  await backUp({ redis: gateway, settings, now: () => world.clock.ms }, backup);
  files = await contents(settings);
  keys = (await everyKey(gateway)).sort();
  // Nothing is restored while a gateway is connected: from here on this is a tool.
  gateway.disconnect();
  redis = connectRedis(
    { REDIS_URL: server.url, REDIS_CLUSTER: false, REDIS_WAIT_REPLICAS: 0 },
    silentLog,
    'tool',
  );
  await whenReady(redis, UP_WITHIN_MS);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
  await rm(dir, { recursive: true, force: true });
});

/** `npm run restore -- --force` into a place, killed after so long, if it has not ended by then. */
async function restoreInto(
  home: string,
  killedAfter_ms?: number,
): Promise<{ code: number | null; ms: number }> {
  const place = [
    `VAR_DIR=${home}`,
    `CURATED_DIR=${join(home, 'curated')}`,
    `REDIS_URL=${server.url}`,
    'LOG_LEVEL=silent',
  ];
  const words = ['build/backup/main.ts', 'restore', '--from', backup, '--force'];
  const started = performance.now();
  const child = spawn('env', [...place, process.execPath, ...words], { stdio: 'ignore' });
  const ended = once(child, 'close');
  if (killedAfter_ms !== undefined) {
    await Promise.race([ended, pause(killedAfter_ms)]);
    child.kill('SIGKILL');
  }
  const [code] = await ended;
  return { code, ms: performance.now() - started };
}

test('killed again and again: nothing half is served, and all is there in the end', async () => {
  await empty(redis);
  const { code, ms } = await restoreInto(join(dir, 'whole'));
  expect(code).toBe(0);
  const home = join(dir, 'target');
  const settings = settingsIn(home);
  const pointer = join(settings.SNAPSHOT_DIR, 'current');
  const cut = { early: 0, midway: 0 };
  for (let kill = 0; kill < KILLS; kill++) {
    await empty(redis);
    await rm(home, { recursive: true, force: true });
    // The first third of its time the process only starts.
    await restoreInto(home, ms * (0.3 + (0.65 * kill) / KILLS));
    if (existsSync(pointer)) {
      // What is served is named last: all that it needs is there.
      expect((await everyKey(redis)).length).toBe(keys.length);
      for (const name of files.keys()) expect(existsSync(join(home, name))).toBe(true);
    } else cut[existsSync(home) ? 'midway' : 'early']++;
  }
  expect(cut.midway).toBeGreaterThan(0);
  expect((await restoreInto(home)).code).toBe(0);
  expect(await contents(settings)).toEqual(files);
  expect((await everyKey(redis)).sort()).toEqual(keys);
  for (const id of await redis.zrange('accounts', '0', '-1'))
    await expectSoundChain(redis, id, await wholeLedger(redis, settings.ARCHIVE_DIR, id));
}, 60_000);
