/** Reads what reconciliation looks at: the account's wallet, ledger, orders and usage as of one moment. */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { dateOfDay, dayOf, redisKeys } from '../../data/schema/redis-keys.ts';
import type { LedgerEntry } from '../../gateway/account/account.ts';
import type { AccountStore } from '../../gateway/account/store.ts';
import { ledgerEntryFrom } from '../../gateway/account/stored.ts';
import { foldUsage } from '../../gateway/metering/usage.ts';
import type { AccountFacts } from './account-check.ts';

const PIECE = 1_000;
/** Usage is kept for 100 days; the oldest may be going while it is read. */
const USAGE_DAYS = 98;

/**
 * Where older entries of a ledger lie once they have been archived. They are put before the live ones, and the
 * `carry_forward` entry that took their place is then left out.
 */
export interface LedgerArchive {
  /** Archived entries of an account, oldest first. */
  entries(account_id: string): Promise<LedgerEntry[]>;
}

export const NO_ARCHIVE: LedgerArchive = { entries: async () => [] };

export interface FactSources {
  redis: RedisClient;
  accounts: AccountStore;
  archive: LedgerArchive;
  now: () => number;
}

/** Wallet, usage and the end of the ledger are read in one transaction, so that a call in between is in all or none. */
export async function readFacts(
  { redis, accounts, archive, now }: FactSources,
  account_id: string,
): Promise<AccountFacts | null> {
  const today = dayOf(now());
  const days = Array.from({ length: USAGE_DAYS }, (_, index) => today - USAGE_DAYS + 1 + index);
  const usageKeys = days.map((day) => redisKeys.usage(account_id, day));
  // Most accounts of a large service have not called lately: one question instead of a hundred.
  const hasUsage = (await redis.exists(...usageKeys)) > 0;
  const transaction = redis.multi().hgetall(redisKeys.account(account_id));
  transaction.xrevrange(redisKeys.ledger(account_id), '+', '-', 'COUNT', 1);
  if (hasUsage) for (const key of usageKeys) transaction.hgetall(key);
  const replies = (await transaction.exec()) ?? [];
  const [hash, newest, ...usage] = replies.map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
  const account = hash as Record<string, string>;
  if (!account.state) return null;
  const [last] = newest as [string, string[]][];
  const [live, archived, orders] = await Promise.all([
    last ? readLedger(redis, account_id, last[0]) : [],
    archive.entries(account_id),
    accounts.listOrders(account_id),
  ]);
  const counters = usage as Record<string, string>[];
  const { daily } = foldUsage(
    days.map((day, index) => ({ date: dateOfDay(day), counters: counters[index] ?? {} })),
  );
  return {
    account_id,
    email: account.email ?? '',
    balance: Number(account.balance),
    granted: Number(account.granted),
    spent: Number(account.spent),
    paid_orders: Number(account.paid ?? 0),
    ledger:
      archived.length > 0 ? [...archived, ...live.filter(({ kind }) => kind !== 'carry_forward')] : live,
    orders,
    used: new Map(daily.map(({ date, credits }) => [date, credits])),
  };
}

/** Entries up to one of them, oldest first, a piece at a time. */
async function readLedger(redis: RedisClient, account_id: string, last: string): Promise<LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  for (let from = '-'; ; ) {
    const piece = await redis.xrange(redisKeys.ledger(account_id), from, last, 'COUNT', PIECE);
    entries.push(...piece.map(ledgerEntryFrom));
    const end = piece.at(-1)?.[0];
    if (piece.length < PIECE || end === undefined) return entries;
    from = `(${end}`;
  }
}
