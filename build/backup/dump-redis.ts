/**
 * Everything in Redis as lines of a file, while the service goes on.
 *
 * Keys that share a hash tag are read by one script: each account is consistent in itself. What is written last is read
 * first: the service notes an address or an order id, then the account, then its place in an index. So the indexes are
 * read first, the accounts after them and the notes at the end, and nothing in the copy points at what is not there.
 * Names come from SCAN, which finds every key that is there from its beginning to its end; those that an account gets
 * meanwhile are known by name. Names are held in memory, values go to the file as they come.
 */
import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { dayOf, minuteOf, redisKeys } from '../../data/schema/redis-keys.ts';
import { withRetry } from '../archive/redis-access.ts';
import { inParallel } from '../runtime/in-parallel.ts';

const DUMP_KEYS = readFileSync(new URL('lua/dump-keys.lua', import.meta.url), 'utf8');
const INDEXES: readonly string[] = [
  redisKeys.accounts,
  redisKeys.orders,
  redisKeys.accountsChanged,
  redisKeys.alerts,
  redisKeys.operators,
];
const SCAN_COUNT = 1_000;
const GROUPS_AT_ONCE = 8;
/** Keys that one script reads of a tag that is not an account: it holds Redis for some milliseconds. */
const KEYS_AT_ONCE = 1_000;
/** Times a tag is read again because it got new keys meanwhile. */
const ROUNDS = 5;

/** A key as a line of the file. */
export type KeyLine = [name: string, left_ms: number, value: string];

export const mastersOf = (redis: RedisClient): Redis[] =>
  redis instanceof Cluster ? redis.nodes('master') : [redis];

/** `{a:1}` of `{a:1}:ledger`; null for a key without one. */
const tagOf = (key: string): string | null => /^[^{]*(\{[^}]+\})/.exec(key)?.[1] ?? null;

async function scan(redis: RedisClient, pattern = '*'): Promise<Set<string>> {
  const names = new Set<string>();
  for (const node of mastersOf(redis)) {
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

/** Keys that an account may have got since its names were read. */
function namesOf(account_id: string, now_ms: number): string[] {
  const { account, keys, ledger, archivedThrough, idem, accountOrders, login, alert, usage, debits } =
    redisKeys;
  const always = [account, keys, ledger, archivedThrough, idem, accountOrders, login, alert];
  const around = [-1, 0, 1];
  return [
    ...always.map((name) => name(account_id)),
    ...around.map((days) => usage(account_id, dayOf(now_ms) + days)),
    ...around.map((minutes) => debits(account_id, minuteOf(now_ms) + minutes)),
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
    for (const name of namesOf(account_id, now())) names.add(name);
    const lines = await dumpKeys(redis, [...names]);
    const orders = await withRetry(redis, () => redis.zrange(redisKeys.accountOrders(account_id), '0', '-1'));
    const late = orders.map((id) => redisKeys.order(account_id, id)).filter((name) => !names.has(name));
    if (late.length === 0) return lines;
    for (const name of late) names.add(name);
  }
}

/** A tag of the service's own, like `{audit}`: one moment as well, as long as it has no more keys than one script reads. */
async function dumpTag(redis: RedisClient, tag: string, found: readonly string[]): Promise<KeyLine[]> {
  const names = new Set(found);
  for (let round = 1; ; round += 1) {
    const all = [...names];
    const lines: KeyLine[] = [];
    for (let from = 0; from < all.length; from += KEYS_AT_ONCE)
      lines.push(...(await dumpKeys(redis, all.slice(from, from + KEYS_AT_ONCE))));
    const late = tag.startsWith('{ip:') ? [] : [...(await scan(redis, `${tag}*`))];
    if (round === ROUNDS || late.every((name) => names.has(name))) return lines;
    for (const name of late) names.add(name);
  }
}

const accountOf = (tag: string): string | null =>
  tag.startsWith('{a:') ? decodeURIComponent(tag.slice(3, -1)) : null;

/**
 * Writes all of Redis to a file that does not exist yet, flushed.
 * @returns how many keys.
 */
export async function dumpRedis(redis: RedisClient, file: string, now: () => number): Promise<number> {
  const handle = await open(file, 'wx');
  let keys = 0;
  // One write after the other; whoever reads waits for its own.
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
    const groups = Map.groupBy(await scan(redis), tagOf);
    groups.delete(null);
    await inParallel(groups, GROUPS_AT_ONCE, async ([tag, names]) => {
      const word = tag ?? '';
      const account_id = accountOf(word);
      await write(
        account_id === null
          ? await dumpTag(redis, word, names)
          : await dumpAccount(redis, account_id, names, now),
      );
    });
    const notes = [...(await scan(redis))].filter((name) => tagOf(name) === null && !INDEXES.includes(name));
    await writeEach(notes);
    await handle.sync();
    return keys;
  } finally {
    await handle.close();
  }
}
