/**
 * Dumps all of Redis to a file while the service runs, and restores it.
 *
 * One script reads the keys that share a hash tag, so each account is consistent in itself. The service writes an address
 * or order id first, then the account, then its index entry. The dump reads in the opposite order (indexes, accounts,
 * then persons, invoices and keys without a tag), so nothing in it refers to a missing key. SCAN finds every key that exists from its start to
 * its end; keys that an account gets meanwhile are known by name. Names are held in memory, values go to the file.
 */
import { createReadStream, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Cluster, type Redis } from 'ioredis';
import { inParallel } from '../../data/runtime/in-parallel.ts';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { dayOf, minuteOf, redisKeys } from '../../data/schema/redis-keys.ts';
import { CommandError } from '../runtime/errors.ts';
import { withRetry } from '../runtime/redis-connection.ts';

const DUMP_KEYS = readFileSync(new URL('lua/dump-keys.lua', import.meta.url), 'utf8');
const INDEXES: readonly string[] = [
  redisKeys.accounts,
  redisKeys.orders,
  redisKeys.accountsChanged,
  redisKeys.alerts,
  redisKeys.spendingAlerts,
  redisKeys.outbox,
  redisKeys.operators,
];
const SCAN_COUNT = 1_000;
const GROUPS_AT_ONCE = 8;
/** Keys that one script reads of a tag other than an account. It blocks Redis for some milliseconds. */
const KEYS_AT_ONCE = 1_000;
/** How often a tag is read again because it got new keys meanwhile. */
const MAX_ROUNDS = 5;

/** A key as a line of the file; name and value in base64, -1 for a key that does not expire. */
export type KeyLine = [name: string, left_ms: number, value: string];

export const listMasters = (redis: RedisClient): Redis[] =>
  redis instanceof Cluster ? redis.nodes('master') : [redis];

/** `{a:1}` of `{a:1}:ledger`; null for a key without one. */
const findTag = (key: string): string | null => /^[^{]*(\{[^}]+\})/.exec(key)?.[1] ?? null;

async function scan(redis: RedisClient, pattern = '*'): Promise<Set<string>> {
  const names = new Set<string>();
  for (const node of listMasters(redis)) {
    let cursor = '0';
    do {
      const from = cursor;
      const [next, found] = await withRetry(redis, () =>
        node.scan(from, 'MATCH', pattern, 'COUNT', SCAN_COUNT),
      );
      for (const name of found) names.add(name);
      cursor = next;
    } while (cursor !== '0');
  }
  return names;
}

async function dumpKeys(redis: RedisClient, names: readonly string[]): Promise<KeyLine[]> {
  const found = (await withRetry(redis, () =>
    redis.callBuffer('EVAL', DUMP_KEYS, String(names.length), ...names),
  )) as [value: Buffer | null, left_ms: number][];
  return names.flatMap((name, index): KeyLine[] => {
    const [value, left_ms] = found[index] ?? [null, 0];
    return value ? [[Buffer.from(name).toString('base64'), Number(left_ms), value.toString('base64')]] : [];
  });
}

const ACCOUNT_KEYS = [
  'account',
  'keys',
  'connections',
  'members',
  'invitations',
  'ledger',
  'archivedThrough',
  'idem',
  'accountOrders',
  'alert',
  'spending',
  'changeAlerts',
  'usedIndicators',
  'webhooks',
  'webhookDeliveries',
  'webhookLog',
  'billing',
] as const;

/** Keys that an account may have got since the scan. */
function accountKeyNames(account_id: string, now_ms: number): string[] {
  const around = [-1, 0, 1];
  return [
    ...ACCOUNT_KEYS.map((name) => redisKeys[name](account_id)),
    ...around.map((days) => redisKeys.usage(account_id, dayOf(now_ms) + days)),
    ...around.map((minutes) => redisKeys.debits(account_id, minuteOf(now_ms) + minutes)),
  ];
}

async function dumpAccount(
  redis: RedisClient,
  account_id: string,
  found: readonly string[],
  now: () => number,
): Promise<KeyLine[]> {
  const names = new Set(found);
  for (;;) {
    for (const name of accountKeyNames(account_id, now())) names.add(name);
    const lines = await dumpKeys(redis, [...names]);
    const orders = await withRetry(redis, () => redis.zrange(redisKeys.accountOrders(account_id), '0', '-1'));
    const late = orders.map((id) => redisKeys.order(account_id, id)).filter((name) => !names.has(name));
    if (late.length === 0) return lines;
    for (const name of late) names.add(name);
  }
}

/** Dumps a tag of the service, like `{audit}`; consistent while one script can read all its keys. */
async function dumpTag(redis: RedisClient, tag: string, found: readonly string[]): Promise<KeyLine[]> {
  const names = new Set(found);
  for (let round = 1; ; round += 1) {
    const all = [...names];
    const lines: KeyLine[] = [];
    for (let from = 0; from < all.length; from += KEYS_AT_ONCE)
      lines.push(...(await dumpKeys(redis, all.slice(from, from + KEYS_AT_ONCE))));
    const late = tag.startsWith('{ip:') ? [] : [...(await scan(redis, `${tag}*`))];
    if (round === MAX_ROUNDS || late.every((name) => names.has(name))) return lines;
    for (const name of late) names.add(name);
  }
}

const INVOICES = findTag(redisKeys.invoicesLast);

/** Members of accounts are persons, and orders have invoices: some of them may be new when their account is dumped. */
const isAfterAccounts = (tag: string): boolean => tag.startsWith('{p:') || tag === INVOICES;

const accountInTag = (tag: string): string | null =>
  tag.startsWith('{a:') ? decodeURIComponent(tag.slice(3, -1)) : null;

/**
 * Writes all of Redis to a new file, flushed.
 * @returns the number of keys.
 */
export async function dumpRedis(redis: RedisClient, file: string, now: () => number): Promise<number> {
  const handle = await open(file, 'wx');
  let keys = 0;
  // Writes are serialised. Each reader waits for its own, which bounds memory.
  let written: Promise<unknown> = Promise.resolve();
  const write = (lines: readonly KeyLine[]): Promise<unknown> => {
    keys += lines.length;
    written = written.then(async () => {
      for (const line of lines) await handle.writeFile(`${JSON.stringify(line)}\n`);
    });
    return written;
  };
  const writeEach = (names: readonly string[]): Promise<void> =>
    inParallel(names, GROUPS_AT_ONCE, async (name) => void (await write(await dumpKeys(redis, [name]))));
  try {
    await writeEach(INDEXES);
    const groups = Map.groupBy(await scan(redis), findTag);
    for (const tag of groups.keys()) if (tag === null || isAfterAccounts(tag)) groups.delete(tag);
    await inParallel(groups, GROUPS_AT_ONCE, async ([tag, names]) => {
      const name = tag ?? '';
      const account_id = accountInTag(name);
      await write(
        account_id === null
          ? await dumpTag(redis, name, names)
          : await dumpAccount(redis, account_id, names, now),
      );
    });
    const rest = Map.groupBy(await scan(redis), findTag);
    const late = [...rest].filter(([tag]) => tag !== null && isAfterAccounts(tag));
    await inParallel(late, GROUPS_AT_ONCE, async ([, names]) => {
      await write(await dumpKeys(redis, names));
    });
    await writeEach((rest.get(null) ?? []).filter((name) => !INDEXES.includes(name)));
    await handle.sync();
    return keys;
  } finally {
    await handle.close();
  }
}

const KEYS_PER_BATCH = 200;
const CHARACTERS_PER_BATCH = 8_000_000;

export const countKeys = async (redis: RedisClient): Promise<number> =>
  (await Promise.all(listMasters(redis).map((node) => node.dbsize()))).reduce((sum, keys) => sum + keys, 0);

const SERVING = / name=almanac-(?:metering|admin|jobs) /;

/** @throws {CommandError} when a gateway, the operator area or a worker is connected: their caches would be wrong. */
export async function assertServiceStopped(redis: RedisClient): Promise<void> {
  const clients = await Promise.all(listMasters(redis).map((node) => node.client('LIST')));
  if (clients.some((list) => SERVING.test(String(list))))
    throw new CommandError('the service is running on this Redis: stop gateways and workers first');
}

export async function emptyRedis(redis: RedisClient): Promise<void> {
  await Promise.all(listMasters(redis).map((node) => node.flushdb()));
}

async function restoreKey(redis: RedisClient, [name, left_ms, value]: KeyLine): Promise<void> {
  const key = Buffer.from(name, 'base64');
  // 0 means no expiry; RESTORE takes no less than a millisecond.
  const life_ms = left_ms < 0 ? 0 : Math.max(1, left_ms);
  await redis.restore(key, life_ms, Buffer.from(value, 'base64')).catch((error: Error) => {
    throw new Error(`Redis refused ${key}: ${error.message}`, { cause: error });
  });
}

/** @throws {Error} naming the first key that Redis refused; those before it are kept. */
export async function restoreRedis(redis: RedisClient, file: string): Promise<void> {
  let batch: KeyLine[] = [];
  let characters = 0;
  const flush = async (): Promise<void> => {
    await Promise.all(batch.map((line) => restoreKey(redis, line)));
    batch = [];
    characters = 0;
  };
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    batch.push(JSON.parse(text) as KeyLine);
    characters += text.length;
    if (batch.length >= KEYS_PER_BATCH || characters >= CHARACTERS_PER_BATCH) await flush();
  }
  await flush();
}
