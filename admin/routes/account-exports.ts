/** CSV exports of one account: keys, ledger, orders, audit entries and usage. */

import type { FastifyReply } from 'fastify';
import { readUsage } from '../../gateway/api/metering/metering.ts';
import { accountSubject, isGap, readWholeLedger } from '../../gateway/commerce/history/history.ts';
import { PageError } from '../../gateway/web/forms.ts';
import type { AdminArea } from '../context.ts';
import { type Records, sendRecords } from '../list.ts';
import { AUDIT_COLUMNS, auditRecords } from './audit.ts';
import { ORDER_COLUMNS, orderRecord } from './orders.ts';
import { USAGE_COLUMNS } from './usage.ts';

const USAGE_DAYS = 90;

const KEY_COLUMNS = [
  ...['key_id', 'label', 'last4', 'state'],
  ...['created_at', 'expires_at', 'revoked_at', 'last_used_at'],
];
const LEDGER_COLUMNS = [
  ...['id', 'at', 'kind', 'delta', 'balance', 'by', 'order_id', 'request_id', 'route', 'key_id'],
  ...['rows', 'indicators', 'more_indicators', 'reason'],
];

type Read = (area: AdminArea, account_id: string) => Promise<Records> | Records;

const LISTS = new Map<string, [name: string, columns: readonly string[], read: Read]>([
  ['ledger.csv', ['ledger', LEDGER_COLUMNS, ledgerRecords]],
  ['keys.csv', ['keys', KEY_COLUMNS, ({ accounts }, id) => accounts.keys.list(id)]],
  [
    'orders.csv',
    ['orders', ORDER_COLUMNS, async ({ accounts }, id) => (await accounts.orders.list(id)).map(orderRecord)],
  ],
  [
    'audit.csv',
    ['audit', AUDIT_COLUMNS, ({ audit }, id) => auditRecords(audit, { subject: accountSubject(id) })],
  ],
  [
    'usage.csv',
    [
      'usage',
      USAGE_COLUMNS,
      async ({ redis, now }, id) => (await readUsage(redis, id, USAGE_DAYS, now())).daily,
    ],
  ],
]);

/** @param format `keys.csv`, `ledger.csv`, `orders.csv`, `audit.csv` or `usage.csv` */
export async function accountExports(
  area: AdminArea,
  reply: FastifyReply,
  account_id: string,
  format: string,
): Promise<FastifyReply> {
  const list = LISTS.get(format);
  if (!list) throw new PageError(422, `format: there is no list "${format}"`);
  const [name, columns, read] = list;
  return sendRecords(reply, `${account_id}-${name}`, columns, await read(area, account_id));
}

/** The whole ledger, newest first, read in pages; a row with kind `missing` stands for entries that cannot be read. */
async function* ledgerRecords({ accounts }: AdminArea, account_id: string): AsyncGenerator<object> {
  for await (const item of readWholeLedger(accounts, account_id)) {
    if (isGap(item)) yield { kind: 'missing', reason: item.message };
    else {
      const indicators = 'indicators' in item.cause ? item.cause.indicators?.join(' ') : '';
      yield { ...item.cause, ...item, indicators };
    }
  }
}
