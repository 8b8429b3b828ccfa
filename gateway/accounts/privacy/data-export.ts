/**
 * Everything that is held about one account, for the person whose it is. Secrets are not part of it: a key's digest
 * and a password's hash say nothing about anybody. Operators appear as `operator`: their names are not the person's.
 */
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { dateOfDay, dayOf } from '../../../data/schema/redis-keys.ts';
import type { Archive } from '../../archive/archive.ts';
import { type Gap, isGap } from '../../archive/entries.ts';
import { readUsage } from '../../metering/usage.ts';
import type { AccountStore } from '../account-store.ts';
import { type AuditLog, wholeAudit } from '../audit/audit-log.ts';
import type { Alerts } from '../balance-alerts.ts';
import { wholeLedger } from '../ledger-history.ts';
import { AccountError } from '../records.ts';
import type { RequestStore } from './requests.ts';

/** Usage of these days is live; of earlier ones it is in the archive. */
const USAGE_DAYS = 90;

export interface HeldDataDependencies {
  redis: RedisClient;
  accounts: AccountStore;
  alerts: Alerts;
  requests: RequestStore;
  audit: AuditLog;
  archive: Archive;
  /** Unix milliseconds. */
  now: () => number;
}

/** Name under which an account's changes stand in the audit log. */
export const subjectOf = (account_id: string): string => `account ${account_id}`;

/** All of them. @throws {AccountError} `archive_damaged` rather than leave something out. */
async function collected<T extends object>(items: AsyncIterable<T | Gap>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) {
    if (isGap(item)) throw new AccountError('archive_damaged', item.message);
    all.push(item);
  }
  return all;
}

/** As one JSON object; times of single facts are Unix milliseconds, as they are held. */
export async function heldData(
  { redis, accounts, alerts, requests, audit, archive, now }: HeldDataDependencies,
  account_id: string,
): Promise<Record<string, unknown>> {
  const subject = subjectOf(account_id);
  const firstDay = dateOfDay(dayOf(now()) - USAGE_DAYS + 1);
  const [account, keys, orders, low_balance_alert, subject_requests, usage, earlier_usage, changes, ledger] =
    await Promise.all([
      accounts.get(account_id),
      accounts.listKeys(account_id),
      accounts.listOrders(account_id),
      alerts.get(account_id),
      requests.listOf(account_id),
      readUsage(redis, account_id, USAGE_DAYS, now()),
      archive.usage.before(account_id, firstDay),
      collected(wholeAudit(audit, subject)),
      collected(wholeLedger(accounts, account_id)),
    ]);
  return {
    prepared_at: new Date(now()).toISOString(),
    account,
    low_balance_alert,
    keys,
    orders,
    usage: { days: USAGE_DAYS, totals: usage.totals, daily: usage.daily, endpoints: usage.endpoints },
    earlier_usage,
    ledger,
    subject_requests,
    changes: changes.map(({ by, ...entry }) => ({ ...entry, by: by === subject ? by : 'operator' })),
  };
}
