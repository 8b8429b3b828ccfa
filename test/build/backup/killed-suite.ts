/** A restore that is killed at any moment serves nothing incomplete, and the next one with `--force` restores everything. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBackup } from '../../../build/backup/backup.ts';
import { connectRedis, type RedisClient, whenReady } from '../../../data/runtime/redis.ts';
import { flushRedis, keysMatching, silentLog, startRedis, type TestRedis } from '../../redis.ts';
import { contents, createBackupFixture, settingsIn, temporaryDirectory } from './backup-fixture.ts';

const UP_WITHIN_MS = 60_000;

/** @param share of the restore within which the kills lie. */
export function describeKilledRestore(kills: number, share = 1): void {
  describe('a killed restore', () => {
    let server: TestRedis;
    let redis: RedisClient;
    let dir: string;
    let backup: string;
    let files: Map<string, string>;
    let values: Map<string, unknown>;

    beforeAll(async () => {
      server = await startRedis();
      const gateway = await server.connect();
      dir = await temporaryDirectory();
      backup = join(dir, 'backup');
      const settings = settingsIn(join(dir, 'home'));
      const { world } = await createBackupFixture(gateway, settings);
      await createBackup({ redis: gateway, settings, now: () => world.clock.ms }, backup);
      files = await contents(settings);
      values = await valuesIn(gateway);
      // A restore is refused while a gateway is connected, so the test goes on as a tool.
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

    /** Every key of a Redis, with the entries of ledgers and logs and the fields of records. */
    async function valuesIn(client: RedisClient): Promise<Map<string, unknown>> {
      const found = new Map<string, unknown>();
      for (const key of (await keysMatching(client)).sort()) {
        const type = await client.type(key);
        if (type === 'stream') found.set(key, await client.xrange(key, '-', '+'));
        else found.set(key, type === 'hash' ? await client.hgetall(key) : type);
      }
      return found;
    }

    /** Progress of a restore: a file counts once when copied and once more in place, a key once. */
    async function progressIn(home: string): Promise<number> {
      const entries = await readdir(home, { recursive: true, withFileTypes: true }).catch(() => []);
      const drafts = entries.filter((entry) => entry.isFile() && entry.parentPath.includes('.restoring'));
      const placed = entries.filter((entry) => entry.isFile()).length - drafts.length;
      return drafts.length + 2 * placed + (await redis.dbsize());
    }

    /** Runs `npm run restore -- --force` in its own process and kills it at the given progress. @returns the exit code. */
    async function restoreInto(home: string, killedAt = Number.POSITIVE_INFINITY): Promise<number | null> {
      const place = [
        `VAR_DIR=${home}`,
        `CURATED_DIR=${join(home, 'curated')}`,
        `REDIS_URL=${server.url}`,
        'LOG_LEVEL=silent',
      ];
      const words = ['build/backup/main.ts', 'restore', '--from', backup, '--force'];
      // It gives way to this process, which looks at its progress, on a machine that has much else to do.
      const command = ['-n', '19', 'env', ...place, process.execPath, ...words];
      const child = spawn('nice', command, { stdio: 'ignore' });
      const ended = once(child, 'close');
      while (child.exitCode === null && (await progressIn(home)) < killedAt);
      child.kill('SIGKILL');
      const [code] = await ended;
      return code;
    }

    it(`serves nothing incomplete when ${kills} restores are killed, and restores everything afterwards`, async () => {
      await flushRedis(redis);
      const home = join(dir, 'target');
      const settings = settingsIn(home);
      const pointer = join(settings.SNAPSHOT_DIR, 'current');
      const whole = 2 * files.size + values.size;
      let midway = 0;
      for (let kill = 0; kill < kills; kill++) {
        await flushRedis(redis);
        await rm(home, { recursive: true, force: true });
        await restoreInto(home, 1 + (whole * share * kill) / kills);
        if (existsSync(pointer)) {
          // The pointer is written last: everything that it needs exists.
          expect((await keysMatching(redis)).length).toBe(values.size);
          for (const name of files.keys()) expect(existsSync(join(home, name))).toBe(true);
        } else midway++;
      }
      expect(midway).toBeGreaterThan(kills / 2);
      expect(await restoreInto(home)).toBe(0);
      expect(await contents(settings)).toEqual(files);
      expect(await valuesIn(redis)).toEqual(values);
    });
  });
}
