/**
 * Whatever happens by day and however a night ends, archive and live together are what was written: ledgers, accounts
 * and clocks at random, nights broken off after random steps; and calls that go on while the archive runs.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Reconciler } from '../../../admin/reconcile/reconciler.ts';
import { type ArchiveSummary, runArchive } from '../../../build/archive/run-archive.ts';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { AuditLog } from '../../../gateway/accounts/audit/audit-log.ts';
import { type Customer, createWorld, UNLIMITED, type World } from '../../gateway/metering/harness.ts';
import { flushRedis, silentLog, startRedis, startRedisCluster } from '../../redis.ts';
import { stream } from './archive-contents.ts';
import { ArchiveOracle } from './archive-oracle.ts';

const DAY_MS = 86_400_000;
const ACCOUNTS = 3;

const account = fc.integer({ min: 0, max: ACCOUNTS - 1 });
const deed = fc.oneof(
  fc.record({ kind: fc.constant('calls'), account, count: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ kind: fc.constant('grant'), account, reason: fc.string({ unit: 'binary', maxLength: 8 }) }),
  fc.record({ kind: fc.constant('correction'), account }),
  fc.record({ kind: fc.constant('order'), account }),
  fc.record({ kind: fc.constant('change'), account, reason: fc.string({ unit: 'binary', maxLength: 8 }) }),
);
const day = fc.record({
  deeds: fc.array(deed, { maxLength: 4 }),
  hours: fc.integer({ min: 1, max: 60 }),
  /** After which step the night is broken off, as often as it is tried; none: it ends. */
  breaks: fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 2 }),
});
type Deed = typeof deed extends fc.Arbitrary<infer T> ? T : never;
type Day = typeof day extends fc.Arbitrary<infer T> ? T : never;

async function doDeed({ store }: World, audit: AuditLog, { account_id, call }: Customer, it: Deed) {
  if (it.kind === 'calls' && 'count' in it)
    await Promise.all(Array.from({ length: it.count }, (_, i) => call({ price: i % 3, rows: i })));
  const reason = 'reason' in it ? it.reason : '';
  if (it.kind === 'grant') await store.grant(account_id, { credits: 7, by: 'test', reason: `r${reason}` });
  if (it.kind === 'correction') await store.adjust(account_id, { delta: -1, by: 'test', reason: 'why' });
  if (it.kind === 'order') {
    const { order_id } = await store.orders.create(account_id, 'small');
    await store.orders.move(order_id, 'paid');
    await store.orders.move(order_id, 'refunded');
  }
  const change = { by: 'test', action: 'account.note', subject: `account ${account_id}`, request_id: 'r' };
  if (it.kind === 'change') await audit.record({ ...change, before: {}, after: { reason }, reason });
}

describe.each([
  ['one Redis', startRedis],
  ['a cluster', startRedisCluster],
])('the archive on %s', (name, start) => {
  let server: { connect(): Promise<RedisClient>; stop(): Promise<void> };
  let redis: RedisClient;

  beforeAll(async () => {
    server = await start();
    redis = await server.connect();
  });
  afterAll(() => server.stop());

  /** A world of its own, with an archive of its own that is gone with it. */
  async function open() {
    await flushRedis(redis);
    const world = createWorld(redis, UNLIMITED);
    const dir = await mkdtemp(join(tmpdir(), 'alm-properties-'));
    const now = (): number => world.clock.ms;
    const archive = (partEntries: number, breakAt: number | null = null): Promise<ArchiveSummary> => {
      let steps = 0;
      const settings = { ARCHIVE_DIR: join(dir, 'archive'), LEDGER_LIVE_DAYS: 1, AUDIT_LIVE_DAYS: 1 };
      const onStep = (): void => {
        steps += 1;
        if (steps === breakAt) throw new Error('broken off');
      };
      return runArchive({ redis, settings, now, log: silentLog, partEntries, onStep });
    };
    return {
      ...{ world, archive, now },
      archiveDir: join(dir, 'archive'),
      workDir: join(dir, 'work'),
      witness: new ArchiveOracle(redis, join(dir, 'archive')),
      audit: new AuditLog(redis, now),
      customers: await Promise.all(
        Array.from({ length: ACCOUNTS }, () => world.customer({ credits: 1_000_000 })),
      ),
      [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
    };
  }

  /** A day, and a night that is broken off some times before it ends. */
  async function liveThrough(
    { world, audit, customers, witness, archive }: Awaited<ReturnType<typeof open>>,
    { deeds, hours, breaks }: Day,
    partEntries: number,
  ): Promise<void> {
    for (const each of deeds) {
      const customer = customers[each.account];
      if (customer) await doDeed(world, audit, customer, each);
    }
    await witness.note();
    world.clock.ms += hours * 3_600_000;
    for (const breakAt of breaks) {
      await archive(partEntries, breakAt).catch(({ message }: Error) => expect(message).toBe('broken off'));
      expect(await witness.wrongs()).toEqual([]);
    }
    expect(await archive(partEntries)).toMatchObject({ ledger: { left: [] }, audit: { left: [] } });
    expect(await witness.wrongs()).toEqual([]);
  }

  it('keeps everything, whatever is written and broken off', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(day, { minLength: 2, maxLength: 6 }),
        fc.integer({ min: 1, max: 60 }),
        async (days, partEntries) => {
          await using to = await open();
          for (const each of days) await liveThrough(to, each, partEntries);
          to.world.clock.ms += 3 * DAY_MS;
          await to.archive(partEntries);
          expect(await to.witness.wrongs()).toEqual([]);
          for (const { account_id } of to.customers)
            expect(await redis.xlen(`{a:${account_id}}:ledger`)).toBe(0);
          expect(await redis.xlen('{audit}:log')).toBe(0);
        },
      ),
      { numRuns: name === 'one Redis' ? 6 : 2 },
    );
  });

  it('takes nothing from calls that go on, and reconciliation finds nothing meanwhile nor afterwards', async () => {
    await using to = await open();
    const { archiveDir, workDir, now, witness } = to;
    const reconciler = new Reconciler({ redis, now, archiveDir, workDir }, silentLog);
    const reconcile = async (): Promise<void> => {
      const before = reconciler.last;
      await reconciler.refresh(60_000);
      expect(reconciler.last).not.toBe(before);
      expect(reconciler.last).toMatchObject({ discrepancies: [], problems: [] });
    };
    const acknowledged = new Map<string, string[]>(to.customers.map(({ account_id }) => [account_id, []]));
    for (let round = 0; round < 3; round += 1) {
      to.world.clock.ms += DAY_MS;
      let isOver = false;
      const calling = to.customers.map(async ({ account_id, call }) => {
        const own = acknowledged.get(account_id) ?? [];
        for (let turn = 0; turn < 150 || !isOver; turn += 1) {
          const request_id = `${round}-${turn}`;
          expect(await call({ request_id, price: 2 })).toMatchObject({ kind: 'admitted' });
          own.push(request_id);
        }
      });
      await Promise.all([to.archive(100), reconcile()]).finally(() => {
        isOver = true;
      });
      await Promise.all(calling);
      await witness.note();
      expect(await witness.wrongs()).toEqual([]);
    }
    await reconcile();
    // Everything of today is live: two nights later it is not.
    to.world.clock.ms += 2 * DAY_MS;
    const today = await Promise.all(
      to.customers.map(({ account_id }) => stream(redis, `{a:${account_id}}:ledger`)),
    );
    expect(today.every((entries) => entries.length > 0)).toBe(true);
    await to.archive(100);
    expect(await witness.wrongs()).toEqual([]);
    for (const { account_id } of to.customers)
      expect((await witness.debitsOf(account_id)).sort()).toEqual(acknowledged.get(account_id)?.sort());
    await reconcile();
  });
});
