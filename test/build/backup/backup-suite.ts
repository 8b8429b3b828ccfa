/** Backup under startLoad, wipe and restore, for one Redis and for a cluster. */
import { readFile, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Reconciler } from '../../../admin/reconcile/reconciler.ts';
import { runArchive } from '../../../build/archive/run-archive.ts';
import { createBackup } from '../../../build/backup/backup.ts';
import { REDIS_FILE } from '../../../build/backup/format.ts';
import { restoreBackup } from '../../../build/backup/restore.ts';
import { backupTrees } from '../../../build/backup/trees.ts';
import { acquireLock, LockHeldError } from '../../../data/runtime/file-lock.ts';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { readSettings } from '../../../data/runtime/settings.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { createMetrics } from '../../../gateway/api/http/server/metrics.ts';
import { LOAD_LIMITS, LoadShedder } from '../../../gateway/api/http/server/overload.ts';
import { buildApp } from '../../../gateway/app.ts';
import { createWorld, UNLIMITED, type World } from '../../gateway/api/metering/harness.ts';
import { openSnapshots } from '../../gateway/open-snapshots.ts';
import { flushRedis, keysMatching, silentLog } from '../../redis.ts';
import {
  type BackupFixture,
  contents,
  createBackupFixture,
  settingsIn,
  startLoad,
  temporaryDirectory,
} from './backup-fixture.ts';

const HOUR_MS = 3_600_000;

/** Read after the accounts: an order that is new in the dump has its invoice there, or the mark of one to come. */
async function expectInvoicesLast(file: string): Promise<void> {
  const names = (await readFile(file, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => Buffer.from(JSON.parse(line)[0], 'base64').toString());
  const first = names.findIndex((name) => name.startsWith('{invoices}'));
  expect(first).toBeGreaterThan(names.findLastIndex((name) => name.startsWith('{a:')));
}

/** Each order has its invoice once the sweep has seen what the backup interrupted, and the next number is free. */
async function expectInvoices({ store, clock, redis }: World): Promise<void> {
  const { invoices } = store.orders;
  clock.ms += HOUR_MS;
  await invoices.sweep();
  const orders = await store.orders.listAll({ limit: 100_000 });
  const issued = await Promise.all(orders.map(({ order_id }) => invoices.issuedOf(order_id)));
  expect(issued.map((documents) => documents.map(({ kind }) => kind))).toEqual(orders.map(() => ['invoice']));
  const year = String(new Date(clock.ms).getUTCFullYear());
  const last = Number(await redis.hget(redisKeys.invoicesLast, year));
  const { order_id } = await store.orders.create(String(orders[0]?.account_id), 'small');
  const [next] = await invoices.issuedOf(order_id);
  expect(next?.number).toBe(`${year}-${String(last + 1).padStart(6, '0')}`);
}

type Start = () => Promise<{ connect(): Promise<RedisClient>; stop(): Promise<void> }>;

export function describeBackup(name: string, start: Start): void {
  describe(`backup and restore on ${name}`, () => {
    let server: Awaited<ReturnType<Start>>;
    let redis: RedisClient;
    let dir: string;
    let place: BackupFixture;

    beforeAll(async () => {
      server = await start();
      redis = await server.connect();
      dir = await temporaryDirectory();
      place = await createBackupFixture(redis, settingsIn(join(dir, 'home')));
    });
    afterAll(async () => {
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    });

    const wipe = async (): Promise<void> => {
      await flushRedis(redis);
      for (const { directory } of backupTrees(settingsIn(join(dir, 'home'))))
        await rm(directory, { recursive: true, force: true });
    };

    it('restores everything that was acknowledged before the backup began, each account consistent', async () => {
      const settings = settingsIn(join(dir, 'home'));
      const { world, people, oracle } = place;
      const now = (): number => world.clock.ms;
      const busy = startLoad(place);
      await busy.rounds(20);
      await oracle.record();
      const files = await contents(settings);
      const backup = join(dir, 'backup');
      const summary = await createBackup({ redis, settings, now }, backup);
      await busy.rounds(5);
      await busy.stop();
      const keysAfter = (await keysMatching(redis)).length;
      expect(summary.keys).toBeLessThan(keysAfter);
      await expectInvoicesLast(join(backup, REDIS_FILE));
      await wipe();
      await restoreBackup({ redis, settings }, backup);

      expect(await contents(settings)).toEqual(files);
      expect([...files.keys()].filter((name) => /\.copies|code\.ts/.test(name))).toEqual([]);
      expect(await redis.zcard('accounts')).toBeGreaterThan(people.length);
      // What came while the backup ran is in it or not: each account is consistent.
      await oracle.record();
      expect(await oracle.problems()).toEqual([]);
      for (const order of await redis.zrange('orders', '0', '-1'))
        expect(await world.store.orders.get(order)).toMatchObject({ order_id: order });
      const [{ account_id } = { account_id: '' }] = people;
      const day = new Date(now()).toISOString().slice(0, 10);
      expect(await redis.pttl(`{a:${account_id}}:usage:${day}`)).toBeGreaterThan(0);
      expect(await redis.pttl(`{a:${account_id}}:account`)).toBe(-1);

      const reconciler = new Reconciler(
        { redis, now, archiveDir: settings.ARCHIVE_DIR, workDir: join(dir, 'work') },
        silentLog,
      );
      await reconciler.refresh(60_000);
      expect(reconciler.last).toMatchObject({ discrepancies: [], problems: [], invoice_problems: [] });
      await expectInvoices(world);
    });

    it('serves the restored snapshot and accepts the restored keys', async () => {
      const { SNAPSHOT_DIR } = settingsIn(join(dir, 'home'));
      const settings = readSettings({ LOG_LEVEL: 'silent' });
      const { world, people } = place;
      const now = (): number => world.clock.ms;
      const snapshots = await openSnapshots(SNAPSHOT_DIR);
      const { metering } = createWorld(redis, UNLIMITED);
      const app = buildApp({
        settings,
        metering,
        snapshots,
        now,
        log: silentLog,
        randomId: () => 'r',
        metrics: createMetrics({ snapshots, metering, now }),
        loadShedder: new LoadShedder(LOAD_LIMITS, silentLog),
      });
      try {
        await app.listen({ port: 0, host: '127.0.0.1' });
        const { port } = app.server.address() as AddressInfo;
        const [person] = people;
        const answer = await fetch(`http://127.0.0.1:${port}/v1/ping`, {
          headers: { authorization: `Bearer ${person?.key}` },
        });
        expect([answer.status, await answer.json()]).toMatchObject([
          200,
          { data: { key_id: person?.apiKey.key_id } },
        ]);
        const topics = await fetch(`http://127.0.0.1:${port}/v1/topics`);
        expect(topics.status).toBe(200);
      } finally {
        await app.close();
        await metering.flush();
        await snapshots.close();
      }
    });

    it('excludes an archive run during a backup, and waits for one that is active', async () => {
      const settings = settingsIn(join(dir, 'home'));
      const { world, people, oracle } = place;
      world.clock.ms += 10 * 86_400_000;
      let archiving: Promise<unknown> | undefined;
      const archive = (): Promise<unknown> =>
        runArchive({
          redis,
          settings: { ...settings, LEDGER_LIVE_DAYS: 3, AUDIT_LIVE_DAYS: 1 },
          now: () => world.clock.ms,
          log: silentLog,
        }).catch((error: unknown) => error);
      let asked = 0;
      // The clock is read once at the start and once an account: at the second call the first account is being copied.
      const now = (): number => {
        asked += 1;
        if (asked === 2) archiving = archive();
        return world.clock.ms;
      };
      const backup = join(dir, 'second');
      await createBackup({ redis, settings, now }, backup);
      expect(await archiving).toBeInstanceOf(LockHeldError);
      await archive();
      await wipe();
      await restoreBackup({ redis, settings }, backup);
      expect(await oracle.problems({ usage: false })).toEqual([]);
      expect(await archive()).toMatchObject({ ledger: { left: [], resumed: [] } });
      for (const { account_id } of people) expect(await redis.xlen(`{a:${account_id}}:ledger`)).toBe(0);

      const lock = await acquireLock(join(settings.ARCHIVE_DIR, '.lock'), 'the archive');
      const stop = new AbortController();
      const waiting = createBackup({ redis, settings, now, signal: stop.signal }, join(dir, 'waiting'));
      stop.abort(new Error('enough'));
      await expect(waiting).rejects.toThrow();
      await lock.release();
    });
  });
}
