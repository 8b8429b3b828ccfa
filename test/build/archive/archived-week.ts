/**
 * Three accounts with a week of history, archived every night: several parts, several days of usage, an audit log, and
 * live entries.
 */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Discrepancy } from '../../../admin/reconcile/compare.ts';
import type { Reconciliation } from '../../../admin/reconcile/reconciler.ts';
import { Reconciler } from '../../../admin/reconcile/reconciler.ts';
import { runArchive } from '../../../build/archive/run-archive.ts';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { AccountStore } from '../../../gateway/commerce/accounts/account-store.ts';
import { Archive } from '../../../gateway/commerce/history/archive.ts';
import type { LedgerEntry } from '../../../gateway/commerce/store/records.ts';
import {
  type Customer,
  createWorld,
  PACKS,
  seededRandom,
  UNLIMITED,
  type World,
} from '../../gateway/api/metering/harness.ts';
import { silentLog } from '../../redis.ts';

export const DAY_MS = 86_400_000;
/** Each day but the last three has a part. */
const DAYS = 7;

export interface ArchivedWeek extends AsyncDisposable {
  world: World;
  /** By creation; the last account has entries of every kind. */
  ids: string[];
  /** Orders of the last account: paid, refunded, failed, paid and archived, open. */
  orders: string[];
  /** Every ledger before it was archived, newest first. */
  ledgers: Map<string, LedgerEntry[]>;
  /** The entries of the last account as Redis had them, by id. */
  fields: Map<string, string[]>;
  archiveDir: string;
  archive: Archive;
  /** Reads live and archived. */
  store: AccountStore;
  /** Runs the archive. */
  night(): Promise<void>;
  reconcile(): Promise<Reconciliation>;
  discrepancies(): Promise<Discrepancy[]>;
  /** Resets Redis, files, clock and readers to the end of the week. */
  restore(): Promise<void>;
  stop(): Promise<void>;
}

export async function createArchivedWeek(redis: RedisClient): Promise<ArchivedWeek> {
  const dir = await mkdtemp(join(tmpdir(), 'alm-lived-'));
  const archiveDir = join(dir, 'archive');
  const world = createWorld(redis, UNLIMITED);
  const now = (): number => world.clock.ms;
  const openReaders = (): Pick<ArchivedWeek, 'archive' | 'store'> => {
    const archive = new Archive(archiveDir);
    const options = { redis, now, random: seededRandom(archiveDir), packs: PACKS, archive };
    return { archive, store: new AccountStore(options) };
  };
  const night = async (): Promise<void> => {
    const settings = { ARCHIVE_DIR: archiveDir, LEDGER_LIVE_DAYS: 3, AUDIT_LIVE_DAYS: 90 };
    await runArchive({ redis, settings, now, log: silentLog });
  };
  const people = [await world.customer(), await world.customer(), await world.customer({ credits: 500 })];
  const ids = people.map(({ account_id }) => account_id);
  const ledgers = new Map<string, LedgerEntry[]>(ids.map((id) => [id, []]));
  const fields = new Map<string, string[]>();
  /** Records the live entries before some are archived. */
  const record = async (): Promise<void> => {
    for (const [id, known] of ledgers) {
      const entries = await world.store.ledger(id, { limit: 500 });
      const newest = known[0]?.id;
      const older = newest === undefined ? entries.length : entries.findIndex((entry) => entry.id === newest);
      known.unshift(...entries.slice(0, older));
      if (id === ids.at(-1))
        for (const [entry, own] of await redis.xrange(redisKeys.ledger(id), '-', '+')) fields.set(entry, own);
    }
  };
  const orders: string[] = [];
  for (let day = 0; day < DAYS; day += 1) {
    await spend(world, people, day);
    await trade(world, people.at(-1)?.account_id ?? '', orders, day);
    await record();
    world.clock.ms += DAY_MS;
    await night();
  }
  const reconciler = new Reconciler({ redis, now, archiveDir, workDir: join(dir, 'work') }, silentLog);
  const reconcile = async (): Promise<Reconciliation> => {
    await reconciler.refresh(60_000);
    if (!reconciler.last) throw new Error('nothing was reconciled');
    return reconciler.last;
  };
  const keys = await Promise.all(
    (await redis.keys('*')).map(async (key) => ({
      key,
      ttl: await redis.pttl(key),
      value: await redis.dumpBuffer(key),
    })),
  );
  const saved = join(dir, 'saved');
  await cp(archiveDir, saved, { recursive: true });
  const { ms } = world.clock;
  const stop = async (): Promise<void> => {
    await week.archive.close();
    await rm(dir, { recursive: true, force: true });
  };
  const week: ArchivedWeek = {
    restore: async () => {
      world.clock.ms = ms;
      // Readers cache what they know of parts, which tests change.
      await week.archive.close();
      Object.assign(week, openReaders());
      await redis.flushall();
      for (const { key, ttl, value } of keys) await redis.restore(key, Math.max(0, ttl), value);
      await rm(archiveDir, { recursive: true, force: true });
      await cp(saved, archiveDir, { recursive: true });
    },
    world,
    ids,
    orders,
    ledgers,
    fields,
    archiveDir,
    night,
    reconcile,
    ...openReaders(),
    discrepancies: async () => (await reconcile()).discrepancies,
    stop,
    [Symbol.asyncDispose]: stop,
  };
  return week;
}

/** Calls of one day, more for the later ones. */
async function spend(world: World, people: readonly Customer[], day: number): Promise<void> {
  for (const [index, person] of people.entries()) {
    for (let call = 0; call <= index * 3; call += 1)
      await person.call({ price: call + 1, request_id: `r${day}-${call}` });
  }
  world.clock.ms += 1_000;
}

/** Orders, refunds and a correction of the last account. */
async function trade({ store }: World, id: string, orders: string[], day: number): Promise<void> {
  if (day < 5) orders.push((await store.orders.create(id, 'small')).order_id);
  const [paid = '', refunded = '', failed = '', late = ''] = orders;
  if (day === 1) await store.orders.move(paid, 'paid');
  if (day === 2) {
    await store.orders.move(refunded, 'paid');
    await store.orders.move(refunded, 'refunded');
    await store.orders.move(failed, 'failed');
  }
  if (day === 5) await store.orders.move(late, 'paid');
  if (day === 3) await store.adjust(id, { delta: -7, by: 'operator@example.org', reason: 'a correction' });
}

/** Rewrites a Parquet file of the archive through a query on its rows, which are called `rows`. */
export async function rewrite(file: string, query: string): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`CREATE TABLE rows AS SELECT * FROM read_parquet('${file}')`);
  await connection.run(`COPY (${query}) TO '${file}' (FORMAT parquet)`);
  connection.closeSync();
  instance.closeSync();
}
