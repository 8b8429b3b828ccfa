/**
 * The data export of an account: everything stored about its holder. It leaves out secrets (digests of keys, the
 * password hash), which say nothing about the holder, and shows operators as `operator`, without their names.
 */
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { dateOfDay, dayOf } from '../../../data/schema/redis-keys.ts';
import type { Archive } from '../../archive/archive.ts';
import { type Gap, isGap } from '../../archive/entries.ts';
import { readUsage } from '../../metering/usage.ts';
import type { AccountStore } from '../account-store.ts';
import { type AuditLog, accountSubject } from '../audit/audit-log.ts';
import type { BalanceAlerts } from '../balance-alerts.ts';
import { readWholeLedger } from '../ledger-history.ts';
import { AccountError } from '../records.ts';
import type { PrivacyRequestStore } from './request-store.ts';

/** Live usage covers these days; the archive has earlier ones. */
const USAGE_DAYS = 90;

export interface DataExportDependencies {
  redis: RedisClient;
  accounts: AccountStore;
  alerts: BalanceAlerts;
  requests: PrivacyRequestStore;
  audit: AuditLog;
  archive: Archive;
  /** Unix milliseconds. */
  now: () => number;
}

/** @throws {AccountError} `archive_damaged` if something is missing. */
async function collect<T extends object>(items: AsyncIterable<T | Gap>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) {
    if (isGap(item)) throw new AccountError('archive_damaged', item.message);
    all.push(item);
  }
  return all;
}

/** One JSON object. Times are Unix milliseconds, as stored, except `prepared_at`. */
export async function exportAccountData(
  { redis, accounts, alerts, requests, audit, archive, now }: DataExportDependencies,
  account_id: string,
): Promise<Record<string, unknown>> {
  const subject = accountSubject(account_id);
  const firstDay = dateOfDay(dayOf(now()) - USAGE_DAYS + 1);
  const [account, keys, orders, low_balance_alert, subject_requests, usage, earlier_usage, changes, ledger] =
    await Promise.all([
      accounts.get(account_id),
      accounts.keys.list(account_id),
      accounts.orders.list(account_id),
      alerts.get(account_id),
      requests.listOf(account_id),
      readUsage(redis, account_id, USAGE_DAYS, now()),
      archive.usage.before(account_id, firstDay),
      collect(audit.readAll(subject)),
      collect(readWholeLedger(accounts, account_id)),
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
