/** Data for backup tests: accounts, an archive, a lake, a snapshot and curated data; and load while a backup runs. */
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runArchive } from '../../../build/archive/run-archive.ts';
import { backupTrees, listTree, type TreeSettings } from '../../../build/backup/trees.ts';
import { SnapshotStorage } from '../../../build/editions/snapshot-storage.ts';
import { editionLeaf, MerkleTree } from '../../../data/proofs/merkle-tree.ts';
import { generateSigningKey, parseSigningKey, signCheckpoint } from '../../../data/proofs/signing-key.ts';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import type { LogEntry } from '../../../data/schema/snapshot.ts';
import { AuditLog } from '../../../gateway/commerce/history/audit-log.ts';
import { DeliveryLog } from '../../../gateway/commerce/notifications/webhooks/delivery-log.ts';
import { EndpointStore } from '../../../gateway/commerce/notifications/webhooks/endpoint-store.ts';
import { type Customer, createWorld, UNLIMITED, type World } from '../../gateway/api/metering/harness.ts';
import { publishFixture } from '../../gateway/fixture-snapshot.ts';
import { silentLog } from '../../redis.ts';
import { ArchiveOracle } from '../archive/archive-oracle.ts';

const DAY_MS = 86_400_000;

export async function temporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'alm-backup-'));
}

export function settingsIn(dir: string): TreeSettings {
  return {
    VAR_DIR: dir,
    ARCHIVE_DIR: join(dir, 'archive'),
    LAKE_DIR: join(dir, 'lake'),
    SNAPSHOT_DIR: join(dir, 'snapshots'),
    SIGNING_DIR: join(dir, 'signing'),
    CURATED_DIR: join(dir, 'curated'),
    REDIS_DIR: join(dir, 'redis'),
  };
}

const FILES: Record<string, string> = {
  'lake/gapminder/20261120T020000Z/run.json': '{"status":"succeeded"}',
  'lake/gapminder/current': '20261120T020000Z',
  'lake/gapminder/.copies/of-a-page': 'a cache',
  'lake/overrides.json': '{}',
  'curated/topics.yaml': 'topics: []\n',
  'curated/providers/one.yaml': 'id: one\n',
  'curated/code.ts': 'export {};\n',
};

export async function writeFiles(dir: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  }
}

/** Every file of every tree with its content, as `archive/…`. */
export async function contents(settings: TreeSettings): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const tree of backupTrees(settings)) {
    for (const path of (await listTree(tree)).keys())
      found.set(`${tree.name}/${path}`, (await readFile(join(tree.directory, path))).toString('base64'));
  }
  return found;
}

const KEY = generateSigningKey('almanac.example/log');

/** The checkpoint of a log with these editions. */
export const headOf = (editions: readonly LogEntry[]): string =>
  signCheckpoint(parseSigningKey(KEY), MerkleTree.of(editions.map(editionLeaf)));

/** Writes the private key, and the head of the log as the last that was signed. */
async function signLog({ SIGNING_DIR, SNAPSHOT_DIR }: TreeSettings): Promise<void> {
  await mkdir(SIGNING_DIR, { recursive: true, mode: 0o700 });
  await writeFile(join(SIGNING_DIR, 'key'), `${KEY}\n`, { mode: 0o600 });
  const { editions } = await new SnapshotStorage(SNAPSHOT_DIR).log();
  await writeFile(join(SIGNING_DIR, 'head'), headOf(editions));
}

/** With a delivery in its log; the orders that follow leave events that wait. */
async function addWebhook(redis: RedisClient, now: () => number, account_id: string): Promise<void> {
  const endpoints = new EndpointStore({ redis, now, random: randomBytes, allowsPrivate: false });
  const webhook = { url: 'https://hooks.example.org/', types: ['order.paid'], by: '' };
  const { endpoint_id } = await endpoints.create(account_id, webhook);
  const delivery = { endpoint_id, message_id: 'msg_1', type: 'order.paid', at_ms: now(), body: '{}' };
  await new DeliveryLog({ redis, now, random: randomBytes }).add(account_id, delivery);
}

export interface BackupFixture {
  world: World;
  people: Customer[];
  /** Has seen every entry before some were archived. */
  oracle: ArchiveOracle;
}

/** Creates five days of calls, purchases and changes; the oldest are archived. */
export async function createBackupFixture(
  redis: RedisClient,
  settings: TreeSettings,
): Promise<BackupFixture> {
  const world = createWorld(redis, UNLIMITED);
  const now = (): number => world.clock.ms;
  await writeFiles(settings.VAR_DIR, FILES);
  await publishFixture(settings.SNAPSHOT_DIR);
  await signLog(settings);
  const people = [];
  for (let count = 0; count < 8; count += 1) people.push(await world.customer({ credits: 100_000 }));
  await addWebhook(redis, now, people[0]?.account_id ?? '');
  const audit = new AuditLog(redis, now);
  for (let day = 0; day < 5; day += 1) {
    for (const person of people) for (let call = 0; call < 5; call += 1) await person.call({ rows: 2 });
    const [{ account_id } = { account_id: '' }] = people;
    const { order_id } = await world.store.orders.create(account_id, 'small');
    await world.store.orders.move(order_id, 'paid');
    const change = { by: 'ada@example.org', action: 'indicator.toggle', subject: `indicator x.${day}` };
    await audit.record({ ...change, before: {}, after: { day }, reason: '', request_id: 'r' });
    world.clock.ms += DAY_MS;
  }
  const oracle = new ArchiveOracle(redis, settings.ARCHIVE_DIR);
  await oracle.record();
  await runArchive({
    redis,
    settings: { ...settings, LEDGER_LIVE_DAYS: 3, AUDIT_LIVE_DAYS: 1 },
    now,
    log: silentLog,
  });
  await world.metering.flush();
  return { world, people, oracle };
}

export interface Load {
  /** Resolves after this many more rounds. */
  rounds(count: number): Promise<void>;
  stop(): Promise<void>;
}

/** Starts calls, grants, purchases and new accounts, concurrently for all customers. */
export function startLoad({ world, people }: BackupFixture): Load {
  let goesOn = true;
  let done = 0;
  let waiting: { at: number; settle: () => void }[] = [];
  const work = async (person: Customer, index: number): Promise<void> => {
    for (let round = 0; goesOn; round += 1) {
      await Promise.all(Array.from({ length: 5 }, () => person.call({ price: 1 + (round % 3) })));
      if (round % 5 === index % 5) {
        await world.store.grant(person.account_id, { credits: 7, by: 'test', reason: 'a gift' });
        const { order_id } = await world.store.orders.create(person.account_id, 'large');
        await world.store.orders.move(order_id, 'paid');
      }
      if (round % 9 === index) await (await world.customer()).call();
      done += 1;
      for (const { at, settle } of waiting) if (done >= at) settle();
      waiting = waiting.filter(({ at }) => done < at);
    }
  };
  const workers = people.map(work);
  return {
    rounds: (count) =>
      new Promise((settle) => {
        waiting.push({ at: done + count, settle });
      }),
    stop: async () => {
      goesOn = false;
      await Promise.all(workers);
      // Usage totals are written every few seconds and must not reach an emptied Redis.
      await world.metering.flush();
    },
  };
}
