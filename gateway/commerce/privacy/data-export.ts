/**
 * The data export of an account: everything stored about its holder, as lists of JSON lines. It leaves out secrets
 * (digests of keys, the password hash), which say nothing about the holder, and shows operators as `operator`, without
 * their names. Ledger and changes are read in pages, so that their length needs no memory.
 */
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { dateOfDay, dayOf, redisKeys } from '../../../data/schema/redis-keys.ts';
import { FeedStore, readUsage, readUsedDays } from '../../api/metering/metering.ts';
import type { AccountStore, MemberStore, PersonStore } from '../accounts/accounts.ts';
import type { ConnectionStore } from '../connections/connections.ts';
import {
  type Archive,
  type AuditLog,
  accountSubject,
  type Gap,
  isGap,
  personSubject,
  readWholeLedger,
} from '../history/history.ts';
import {
  type BalanceAlerts,
  DeliveryLog,
  endpointsFrom,
  readToldKinds,
  SpendingAlerts,
} from '../notifications/notifications.ts';
import { readBilling } from '../orders/orders.ts';
import { AccountError, type StoreDependencies, throwUnavailable } from '../store/store.ts';
import type { PrivacyRequestStore } from './request-store.ts';

/** Live usage covers these days; the archive has earlier ones. */
const USAGE_DAYS = 90;

export interface DataExportDependencies extends StoreDependencies {
  accounts: AccountStore;
  persons: PersonStore;
  members: MemberStore;
  connections: ConnectionStore;
  alerts: BalanceAlerts;
  requests: PrivacyRequestStore;
  audit: AuditLog;
  archive: Archive;
}

/** One file of the export, named `<name>.ndjson`. */
export interface ExportList {
  name: string;
  /** One sentence for its reader. */
  help: string;
  /** Read once, when its turn comes. */
  rows(): AsyncIterable<object>;
}

/** Number of ledger entries, live and archived. */
export async function countLedger(redis: RedisClient, account_id: string): Promise<number> {
  const [live, archived] = await Promise.all([
    redis.xlen(redisKeys.ledger(account_id)),
    redis.hget(redisKeys.archivedThrough(account_id), 'entries'),
  ]).catch(throwUnavailable);
  return live + Number(archived ?? 0);
}

/** Times are Unix milliseconds, as stored, except `prepared_at`. Rows throw `archive_damaged` if something is missing. */
export function listAccountData(dependencies: DataExportDependencies, account_id: string): ExportList[] {
  const { redis, accounts, persons, members, connections, alerts, requests, audit, archive, now } =
    dependencies;
  const subject = accountSubject(account_id);
  const firstDay = dateOfDay(dayOf(now()) - USAGE_DAYS + 1);
  const list = (name: string, help: string, rows: ExportList['rows']): ExportList => ({ name, help, rows });
  const all = (name: string, help: string, read: () => Promise<readonly object[]>): ExportList =>
    list(name, help, async function* () {
      yield* await read();
    });
  return [
    list('account', 'The account, its credits and its alerts.', async function* () {
      const [account, low_balance_alert, spending_alert] = await Promise.all([
        accounts.get(account_id),
        alerts.get(account_id),
        new SpendingAlerts(dependencies).get(account_id),
      ]);
      const change_alerts = await readToldKinds(redis, account_id);
      yield {
        prepared_at: new Date(now()).toISOString(),
        account,
        low_balance_alert,
        spending_alert,
        change_alerts,
      };
    }),
    list('members', 'Members of the account with their roles.', async function* () {
      for (const { person_id, ...member } of await members.list(account_id)) {
        const { email = null, name = null } = (await persons.get(person_id)) ?? {};
        yield { person_id, email, name, ...member };
      }
    }),
    all('invitations', 'Invitations that were not accepted yet.', () => members.invitations(account_id)),
    all('keys', 'API keys, without their secrets.', () => accounts.keys.list(account_id)),
    all('connections', 'Hosts that were connected, without their tokens.', () =>
      connections.list(account_id),
    ),
    all('feed-links', 'Feed links, without their secrets.', () =>
      new FeedStore(dependencies).list(account_id),
    ),
    all('orders', 'Orders of credit packs.', () => accounts.orders.list(account_id)),
    list('billing', 'Billing details for the next invoices.', async function* () {
      const billing = await readBilling(redis, account_id);
      if (billing) yield billing;
    }),
    list('invoices', 'Invoices and credit notes, by order, the newest order first.', async function* () {
      for (const order of await accounts.orders.list(account_id))
        yield* await accounts.orders.invoices.issuedOf(order.order_id);
    }),
    all('usage-by-day', `Usage of the last ${USAGE_DAYS} days.`, () =>
      readUsage(redis, account_id, USAGE_DAYS, now()).then(({ daily }) => daily),
    ),
    all('usage-by-route', 'The same usage by route.', () =>
      readUsage(redis, account_id, USAGE_DAYS, now()).then(({ endpoints }) => endpoints),
    ),
    all('earlier-usage', 'Usage before that, by day and route.', () =>
      archive.usageBefore(account_id, firstDay),
    ),
    list('ledger', 'Every change of the balance, newest first.', () =>
      complete(readWholeLedger(accounts, account_id)),
    ),
    all('used-indicators', 'Indicators used in the last 30 days, with the last day.', () =>
      readUsedDays(redis, account_id).catch(throwUnavailable),
    ),
    all('webhooks', 'Webhooks, without their secrets.', () =>
      redis.hgetall(redisKeys.webhooks(account_id)).then(endpointsFrom, throwUnavailable),
    ),
    all('webhook-deliveries', 'What was sent to webhooks, and their answers.', () =>
      new DeliveryLog(dependencies).list(account_id),
    ),
    all('privacy-requests', 'Requests for a copy of the data or its erasure.', () =>
      requests.listOf(account_id),
    ),
    list('owner-changes', 'Changes of the profile of its owner, newest first.', async function* () {
      const [owner] = await members.list(account_id);
      if (owner?.role === 'owner') yield* complete(audit.readAll(personSubject(owner.person_id)));
    }),
    list('changes', 'Changes of the account, newest first. `operator` is one of us.', async function* () {
      for await (const { by, ...entry } of complete(audit.readAll(subject)))
        yield { ...entry, by: /^(?:account|person) /.test(by) ? by : 'operator' };
    }),
  ];
}

/** @throws {AccountError} `archive_damaged` if something is missing. */
async function* complete<T extends object>(items: AsyncIterable<T | Gap>): AsyncGenerator<T> {
  for await (const item of items) {
    if (isGap(item)) throw new AccountError('archive_damaged', item.message);
    yield item;
  }
}
