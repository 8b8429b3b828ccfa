/** Accounts with a week of archived and live history, restored before each test, which corrupts one of them. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, expect } from 'vitest';
import type { Discrepancy } from '../../admin/reconcile/compare.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { LedgerEntry } from '../../gateway/commerce/store/records.ts';
import { createArchivedWeek, DAY_MS } from '../build/archive/archived-week.ts';
import { startRedis } from '../redis.ts';

const server = await startRedis();
export const redis = await server.connect();
export const week = await createArchivedWeek(redis);
export const id = week.ids.at(-1) ?? '';
const { email } = await week.world.store.get(id);
export const parts = (await readdir(join(week.archiveDir, 'ledger'))).sort();
/** The ledger of the account, oldest first. */
export const ledger = (week.ledgers.get(id) ?? []).toReversed();

afterAll(async () => {
  await week.stop();
  await server.stop();
});
beforeEach(() => week.restore());

export const partDir = (at: number): string => join(week.archiveDir, 'ledger', parts.at(at) ?? '');
export const entriesOf = (at: number): string => join(partDir(at), 'entries.parquet');
export const accountsOf = (at: number): string => join(partDir(at), 'accounts.parquet');
export const usageFile = (date: string): string => join(week.archiveDir, 'usage', `${date}.parquet`);
export const wallet = (): string => redisKeys.account(id);
export const archivedThrough = (): string => redisKeys.archivedThrough(id);
/** An archived entry in the middle of the account's second part. */
export const archivedEntry = (): LedgerEntry => {
  const day = Math.floor((ledger[0]?.at_ms ?? 0) / DAY_MS) + 1;
  return ledger.filter(({ at_ms }) => Math.floor(at_ms / DAY_MS) === day)[2] as LedgerEntry;
};
export const isEntry = (entry: LedgerEntry): string => {
  const [ms, seq] = entry.id.split('-');
  return `account_id = '${id}' AND id_ms = ${ms} AND id_seq = ${seq}`;
};
/** Rows with one column of one entry changed. */
export const changed = (column: string, value: string, entry: LedgerEntry): string =>
  `SELECT * REPLACE (CASE WHEN ${isEntry(entry)} THEN ${value} ELSE ${column} END AS ${column}) FROM rows`;

type Found = Pick<Discrepancy, 'check' | 'what' | 'since_ms'> & { off: number };

/** The discrepancies found, which must all be of the corrupted account. */
export async function found(): Promise<Found[]> {
  const discrepancies = await week.discrepancies();
  expect(new Set(discrepancies.map(({ account_id }) => account_id))).toEqual(new Set([id]));
  for (const one of discrepancies) expect(one.email).toBe(email);
  return discrepancies.map(({ check, what, actual, expected, since_ms }) => ({
    check,
    what,
    since_ms,
    off: actual - expected,
  }));
}
