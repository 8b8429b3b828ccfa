/**
 * Properties of the archive: archive and live entries together are always what was written, over random histories with
 * runs that are interrupted after random steps, and while calls go on.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Reconciler } from '../../../admin/reconcile/reconciler.ts';
import { type ArchiveSummary, runArchive } from '../../../build/archive/run-archive.ts';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { AuditLog } from '../../../gateway/commerce/history/audit-log.ts';
import { stopAfterTests } from '../../after-tests.ts';
import { type Customer, createWorld, UNLIMITED, type World } from '../../gateway/api/metering/harness.ts';
import { flushRedis, silentLog } from '../../redis.ts';
import { stream } from './archive-contents.ts';
import { ArchiveOracle } from './archive-oracle.ts';

const DAY_MS = 86_400_000;
const ACCOUNTS = 3;

const account = fc.integer({ min: 0, max: ACCOUNTS - 1 });
const action = fc.oneof(
  fc.record({ kind: fc.constant('calls'), account, count: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ kind: fc.constant('grant'), account, reason: fc.string({ unit: 'binary', maxLength: 8 }) }),
  fc.record({ kind: fc.constant('correction'), account }),
  fc.record({ kind: fc.constant('order'), account }),
  fc.record({ kind: fc.constant('change'), account, reason: fc.string({ unit: 'binary', maxLength: 8 }) }),
);
const day = fc.record({
  actions: fc.array(action, { maxLength: 4 }),
  hours: fc.integer({ min: 1, max: 60 }),
  /** Steps after which successive runs are interrupted; the run after them completes. */
  breaks: fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 2 }),
});
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;
type Day = typeof day extends fc.Arbitrary<infer T> ? T : never;

async function perform({ store }: World, audit: AuditLog, { account_id, call }: Customer, it: Action) {
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

type Start = () => Promise<{ connect(): Promise<RedisClient>; stop(): Promise<void> }>;

/** @param size how many random histories, and how many archive runs beside calls. */
export function describeArchiveProperties(
  name: string,
  start: Start,
  size: { histories: number; concurrentRuns: number },
): void {
  describe(`the archive on ${name}`, async () => {
    const server = await stopAfterTests(start());
    const redis = await server.connect();

    /** An empty Redis with an archive of its own, which is removed on disposal. */
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
          if (steps === breakAt) throw new Error('interrupted');
        };
        return runArchive({ redis, settings, now, log: silentLog, partEntries, onStep });
      };
      return {
        world,
        archive,
        now,
        archiveDir: join(dir, 'archive'),
        workDir: join(dir, 'work'),
        oracle: new ArchiveOracle(redis, join(dir, 'archive')),
        audit: new AuditLog(redis, now),
        customers: await Promise.all(
          Array.from({ length: ACCOUNTS }, () => world.customer({ credits: 1_000_000 })),
        ),
        [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
      };
    }

    /** A day, then an archive run that is interrupted some times before it completes. */
    async function simulateDay(
      { world, audit, customers, oracle, archive }: Awaited<ReturnType<typeof open>>,
      { actions, hours, breaks }: Day,
      partEntries: number,
    ): Promise<void> {
      for (const each of actions) {
        const customer = customers[each.account];
        if (customer) await perform(world, audit, customer, each);
      }
      await oracle.record();
      world.clock.ms += hours * 3_600_000;
      for (const breakAt of breaks) {
        await archive(partEntries, breakAt).catch(({ message }: Error) =>
          expect(message).toBe('interrupted'),
        );
        expect(await oracle.problems()).toEqual([]);
      }
      expect(await archive(partEntries)).toMatchObject({ ledger: { left: [] }, audit: { left: [] } });
      expect(await oracle.problems()).toEqual([]);
    }

    it('keeps every entry, whatever is written and wherever runs are interrupted', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(day, { minLength: 2, maxLength: 6 }),
          fc.integer({ min: 1, max: 60 }),
          async (days, partEntries) => {
            await using to = await open();
            for (const each of days) await simulateDay(to, each, partEntries);
            to.world.clock.ms += 3 * DAY_MS;
            await to.archive(partEntries);
            expect(await to.oracle.problems()).toEqual([]);
            for (const { account_id } of to.customers)
              expect(await redis.xlen(`{a:${account_id}}:ledger`)).toBe(0);
            expect(await redis.xlen('{audit}:log')).toBe(0);
          },
        ),
        { numRuns: size.histories },
      );
    });

    it('loses no concurrent call, and reconciliation finds no discrepancy during or after a run', async () => {
      await using to = await open();
      const { archiveDir, workDir, now, oracle } = to;
      const reconciler = new Reconciler({ redis, now, archiveDir, workDir }, silentLog);
      const reconcile = async (): Promise<void> => {
        const before = reconciler.last;
        await reconciler.refresh(60_000);
        expect(reconciler.last).not.toBe(before);
        expect(reconciler.last).toMatchObject({ discrepancies: [], problems: [] });
      };
      const acknowledged = new Map<string, string[]>(to.customers.map(({ account_id }) => [account_id, []]));
      for (let round = 0; round < size.concurrentRuns; round += 1) {
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
        await oracle.record();
        expect(await oracle.problems()).toEqual([]);
      }
      await reconcile();
      // Today's entries are live; two days later they are archived.
      to.world.clock.ms += 2 * DAY_MS;
      const today = await Promise.all(
        to.customers.map(({ account_id }) => stream(redis, `{a:${account_id}}:ledger`)),
      );
      expect(today.every((entries) => entries.length > 0)).toBe(true);
      await to.archive(100);
      expect(await oracle.problems()).toEqual([]);
      for (const { account_id } of to.customers)
        expect((await oracle.debitsOf(account_id)).sort()).toEqual(acknowledged.get(account_id)?.sort());
      await reconcile();
    });
  });
}
