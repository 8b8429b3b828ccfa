/** Assertions about ledgers across archive and Redis. */
import { expect } from 'vitest';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { archivedLedgers, type Fields, isAtOrBefore, stream } from './archive-contents.ts';

export { archivedAudit, archivedLedgers, query, stream, usageRows } from './archive-contents.ts';

const liveLedger = (redis: RedisClient, account_id: string): Promise<[string, Fields][]> =>
  stream(redis, `{a:${account_id}}:ledger`);

/**
 * The whole ledger of an account as a reader must see it: archived entries up to `through`, then the live ones. Asserts
 * that no entry lies in two parts and that the counters of `archivedThrough` match.
 * @param archived all archived ledgers, for callers that check many accounts.
 */
export async function wholeLedger(
  redis: RedisClient,
  dir: string,
  account_id: string,
  archived?: ReadonlyMap<string, [string, Fields][]>,
): Promise<[string, Fields][]> {
  const parts = (archived ?? (await archivedLedgers(dir))).get(account_id) ?? [];
  expect(new Set(parts.map(([id]) => id)).size).toBe(parts.length);
  const carried = await redis.hgetall(`{a:${account_id}}:carried`);
  const gone = parts.filter(([id]) => carried.through !== undefined && isAtOrBefore(id, carried.through));
  expect(Number(carried.entries ?? 0)).toBe(gone.length);
  expect(carried.through).toBe(gone.at(-1)?.[0]);
  expect(Number(carried.balance ?? 0)).toBe(gone.reduce((sum, [, { delta }]) => sum + Number(delta), 0));
  const live = await liveLedger(redis, account_id);
  return [...gone, ...live];
}

/** Every entry continues from the one before it, and the last balance is the account's. */
export async function expectSoundChain(
  redis: RedisClient,
  account_id: string,
  ledger: readonly [string, Fields][],
): Promise<void> {
  let balance = 0;
  for (const [id, fields] of ledger) {
    balance += Number(fields.delta);
    expect([id, Number(fields.balance)]).toEqual([id, balance]);
  }
  expect(Number(await redis.hget(`{a:${account_id}}:account`, 'balance'))).toBe(balance);
}
