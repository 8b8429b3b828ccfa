/**
 * What the build archives the gateway reads back: every entry as it was while it was live, with fields that have no column
 * and with any text. A reversed debit stays with the day on which it was made.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Reconciler } from '../../../admin/reconcile/reconciler.ts';
import { runArchive } from '../../../build/archive/run-archive.ts';
import { ScriptRunner } from '../../../data/runtime/redis-scripts.ts';
import { DAY_MS, dateOfDay, dayOf, redisKeys } from '../../../data/schema/redis-keys.ts';
import { DebitReversals } from '../../../gateway/api/metering/debit-reversals.ts';
import { RedisMetering } from '../../../gateway/api/metering/redis-metering.ts';
import { AccountStore } from '../../../gateway/commerce/accounts/account-store.ts';
import { Archive } from '../../../gateway/commerce/history/archive.ts';
import { AuditLog } from '../../../gateway/commerce/history/audit-log.ts';
import {
  admissionOf,
  type Customer,
  createWorld,
  PACKS,
  seededRandom,
  UNLIMITED,
  type World,
} from '../../gateway/api/metering/harness.ts';
import { silentLog, useRedis } from '../../redis.ts';
import { archivedLedgers, usageRows } from './archive-contents.ts';
import { ArchiveOracle } from './archive-oracle.ts';

const HOUR_MS = 3_600_000;

const server = await useRedis();
const redis = await server.connect();

async function open() {
  await redis.flushall();
  const dir = await mkdtemp(join(tmpdir(), 'alm-read-back-'));
  const archiveDir = join(dir, 'archive');
  const world = createWorld(redis, UNLIMITED);
  const now = (): number => world.clock.ms;
  const archive = new Archive(archiveDir);
  const options = { redis, now, random: seededRandom(dir), packs: PACKS, log: silentLog, archive };
  const reconciler = new Reconciler({ redis, now, archiveDir, workDir: join(dir, 'work') }, silentLog);
  return {
    world,
    archive,
    archiveDir,
    oracle: new ArchiveOracle(redis, archiveDir),
    store: new AccountStore(options),
    audit: new AuditLog(redis, now, archive),
    night: () => {
      const settings = { ARCHIVE_DIR: archiveDir, LEDGER_LIVE_DAYS: 1, AUDIT_LIVE_DAYS: 1 };
      return runArchive({ redis, settings, now, log: silentLog, partEntries: 7 });
    },
    reconcile: async () => {
      await reconciler.refresh(60_000);
      return { found: reconciler.last?.discrepancies, problems: reconciler.last?.problems };
    },
    [Symbol.asyncDispose]: async () => {
      await archive.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** A debit whose reply never arrived, reversed after `meanwhile`. */
async function reverseDebit(
  { clock }: World,
  { apiKey, account_id }: Customer,
  request_id: string,
  meanwhile: () => unknown,
): Promise<void> {
  const now_ms = clock.ms;
  const debit_id = `debit-${request_id}`;
  const now = (): number => clock.ms;
  const metering = new RedisMetering({
    redis,
    settings: UNLIMITED,
    now,
    log: silentLog,
    debitId: () => debit_id,
  });
  const indicators = ['alpha.life_expectancy', 'a.b', 'c.d', 'e.f'];
  const admission = admissionOf(apiKey, { price: 3, rows: 9, request_id, indicators });
  await metering.admit(admission);
  await meanwhile();
  const reversals = new DebitReversals({ redis, runner: new ScriptRunner(redis), now, log: silentLog });
  const { route } = admission;
  const of = {
    account_id,
    key_id: apiKey.key_id,
    route,
    request_id,
    indicators: 'alpha.life_expectancy,a.b,c.d+1',
  };
  reversals.add({ debit_id, price: 3, at_ms: now_ms, ...of });
  await reversals.flush();
}

const words = fc.string({ unit: 'binary', maxLength: 12 });

interface Paging {
  limit: number;
  before?: string;
}

/** Everything, page by page. */
async function paged<Entry extends { id: string }>(
  pageOf: (options: Paging) => Promise<Entry[]>,
  limit: number,
): Promise<Entry[]> {
  const read: Entry[] = [];
  for (;;) {
    const last = read.at(-1)?.id;
    const page = await pageOf({ limit, ...(last !== undefined && { before: last }) });
    read.push(...page);
    if (page.length < limit) return read;
  }
}

/** @param runs random histories. */
export function describeReadBack(runs: number): void {
  describe('archived history', () => {
    it('returns every field of every ledger and audit entry, in order, in pages of any size', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(words, { minLength: 2, maxLength: 5 }),
          fc.integer({ min: 1, max: 9 }),
          async (texts, limit) => {
            await using to = await open();
            const { world, store, audit, oracle } = to;
            const customer = await world.customer();
            const { account_id } = customer;
            const subject = `account ${account_id}`;
            for (const [index, text] of texts.entries()) {
              await customer.call({ rows: index });
              await reverseDebit(world, customer, `r${index}`, () => {
                world.clock.ms += 1_000;
              });
              await store.adjust(account_id, { delta: -1, by: 'ada@example.org', reason: `why ${text}` });
              const change = {
                by: text,
                action: 'a.b',
                subject,
                before: { text },
                after: {},
                request_id: text,
              };
              await audit.record({ ...change, reason: text });
              // What a later version may add.
              const newer = ['at_ms', String(world.clock.ms), 'subject', subject, 'by', 'x', 'extra', text];
              const id = await redis.xadd(redisKeys.audit, '*', ...newer);
              await redis.xadd(redisKeys.auditOf(subject), id ?? '', ...newer);
              world.clock.ms += DAY_MS / 2;
            }
            await oracle.record();
            const before = await store.ledger(account_id, { limit: 500 });
            const log = await to.audit.page({ limit: 500 });
            expect(before.some(({ cause }) => 'of_ms' in cause)).toBe(true);
            world.clock.ms += DAY_MS;
            for (let night = 0; night < 2; night += 1) {
              await to.night();
              expect(await oracle.problems()).toEqual([]);
              expect(await paged((options) => store.ledger(account_id, options), limit)).toEqual(before);
              for (const about of [{}, { subject }]) {
                const pageOf = async (options: Paging) =>
                  (await to.audit.page({ ...options, ...about })).entries;
                expect(await paged(pageOf, limit)).toEqual(log.entries);
              }
              world.clock.ms += 2 * DAY_MS;
            }
            expect(await redis.xlen(redisKeys.ledger(account_id))).toBe(0);
            expect(await to.reconcile()).toEqual({ found: [], problems: [] });
          },
        ),
        { numRuns: runs },
      );
    });

    it('books a reversal after midnight on the day of its debit, before and after that day is archived', async () => {
      await using to = await open();
      const { world } = to;
      const customer = await world.customer();
      const { account_id } = customer;
      const midnight_ms = (dayOf(world.clock.ms) + 1) * DAY_MS;
      const debited_ms = midnight_ms - 1_000;
      const nightAfter = async (hours: number): Promise<void> => {
        world.clock.ms = midnight_ms + hours * HOUR_MS;
        await to.night();
        expect(await to.reconcile()).toEqual({ found: [], problems: [] });
      };
      world.clock.ms = debited_ms;
      await customer.call({ price: 2 });
      // The gateway is cut off from Redis for hours, in which the night comes and goes.
      await reverseDebit(world, customer, 'late', async () => {
        for (const hours of [2, 11]) await nightAfter(hours);
      });
      for (const hours of [11.5, 26, 50, 74]) await nightAfter(hours);
      const [, refund] = (await archivedLedgers(to.archiveDir)).get(account_id)?.at(-1) ?? [];
      expect(refund).toMatchObject({ kind: 'refund', of_ms: String(debited_ms) });
      expect(await usageRows(to.archiveDir, dateOfDay(dayOf(debited_ms)))).toMatchObject([{ credits: '2' }]);
    });
  });
}
