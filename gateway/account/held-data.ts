/**
 * Everything that is held about one account, for the person whose it is. Secrets are not part of it: a key's digest
 * and a password's hash say nothing about anybody. Operators appear as `operator`: their names are not the person's.
 */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { readUsage } from '../metering/usage.ts';
import type { AuditEntry, AuditLog } from '../web/audit-log.ts';
import type { LedgerEntry } from './account.ts';
import type { Alerts } from './alerts.ts';
import type { RequestStore } from './requests.ts';
import type { AccountStore } from './store.ts';

/** Usage is counted by day for this long. */
const USAGE_DAYS = 90;
const PAGE = 500;

export interface HeldDataDependencies {
  redis: RedisClient;
  accounts: AccountStore;
  alerts: Alerts;
  requests: RequestStore;
  audit: AuditLog;
  /** Unix milliseconds. */
  now: () => number;
}

/** Name under which an account's changes stand in the audit log. */
export const subjectOf = (account_id: string): string => `account ${account_id}`;

/** All entries of a ledger, newest first. */
export async function* wholeLedger(accounts: AccountStore, account_id: string): AsyncGenerator<LedgerEntry> {
  let before: string | undefined;
  for (;;) {
    const entries = await accounts.ledger(account_id, {
      limit: PAGE,
      ...(before !== undefined && { before }),
    });
    yield* entries;
    before = entries.at(-1)?.id;
    if (before === undefined || entries.length < PAGE) return;
  }
}

async function wholeAudit(audit: AuditLog, subject: string): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  for (;;) {
    const before = entries.at(-1)?.id;
    const page = await audit.of(subject, { limit: PAGE, ...(before !== undefined && { before }) });
    entries.push(...page);
    if (page.length < PAGE) return entries;
  }
}

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** As one JSON object; times of single facts are Unix milliseconds, as they are held. */
export async function heldData(
  { redis, accounts, alerts, requests, audit, now }: HeldDataDependencies,
  account_id: string,
): Promise<Record<string, unknown>> {
  const subject = subjectOf(account_id);
  const [account, keys, orders, low_balance_alert, subject_requests, usage, changes, ledger] =
    await Promise.all([
      accounts.get(account_id),
      accounts.listKeys(account_id),
      accounts.listOrders(account_id),
      alerts.get(account_id),
      requests.listOf(account_id),
      readUsage(redis, account_id, USAGE_DAYS, now()),
      wholeAudit(audit, subject),
      collected(wholeLedger(accounts, account_id)),
    ]);
  return {
    prepared_at: new Date(now()).toISOString(),
    account,
    low_balance_alert,
    keys,
    orders,
    usage: { days: USAGE_DAYS, totals: usage.totals, daily: usage.daily, endpoints: usage.endpoints },
    ledger,
    subject_requests,
    changes: changes.map(({ by, ...entry }) => ({ ...entry, by: by === subject ? by : 'operator' })),
  };
}
