/** CSV exports of one account: keys, ledger, orders, audit entries and usage. */

import type { FastifyReply } from 'fastify';
import { readUsage } from '../../gateway/api/metering/metering.ts';
import { accountSubject, isGap, readWholeLedger } from '../../gateway/commerce/history/history.ts';
import type { AccountRecord, LedgerEntry } from '../../gateway/commerce/store/store.ts';
import { type Cell, PageError, type Rows, sendCsv } from '../../gateway/web/forms.ts';
import type { AdminArea } from '../context.ts';
import { AUDIT_COLUMNS, auditRows } from './audit.ts';
import { ORDER_COLUMNS, orderRow } from './orders.ts';
import { USAGE_COLUMNS, usageRow } from './usage.ts';

const USAGE_DAYS = 90;

const iso = (ms: number | null): string => (ms === null ? '' : new Date(ms).toISOString());

const KEY_COLUMNS = [
  'key_id',
  'label',
  'last4',
  'state',
  'created_at',
  'expires_at',
  'revoked_at',
  'last_used_at',
];
const LEDGER_COLUMNS = [
  'id',
  'at',
  'kind',
  'delta',
  'balance',
  'by',
  'order_id',
  'request_id',
  'route',
  'key_id',
  'rows',
  'indicators',
  'more_indicators',
  'reason',
];

/** Cells between kind and reason. */
const EMPTY_CELLS: Cell[] = Array.from({ length: LEDGER_COLUMNS.length - 4 }, () => '');

/** @param format `keys.csv`, `ledger.csv`, `orders.csv`, `audit.csv` or `usage.csv` */
export async function accountExports(
  area: AdminArea,
  reply: FastifyReply,
  { account_id }: AccountRecord,
  format: string,
): Promise<FastifyReply> {
  const send = (list: string, columns: readonly string[], rows: Rows): FastifyReply =>
    sendCsv(reply, `${account_id}-${list}`, columns, rows);
  if (format === 'ledger.csv') return send('ledger', LEDGER_COLUMNS, ledgerRows(area, account_id));
  if (format === 'keys.csv') {
    const keys = await area.accounts.keys.list(account_id);
    const rows = keys.map((key): Cell[] => [
      ...[key.key_id, key.label, key.last4, key.state],
      ...[key.created_at_ms, key.expires_at_ms, key.revoked_at_ms, key.last_used_at_ms].map(iso),
    ]);
    return send('keys', KEY_COLUMNS, rows);
  }
  if (format === 'orders.csv')
    return send('orders', ORDER_COLUMNS, (await area.accounts.orders.list(account_id)).map(orderRow));
  if (format === 'audit.csv')
    return send('audit', AUDIT_COLUMNS, auditRows(area.audit, { subject: accountSubject(account_id) }));
  if (format === 'usage.csv') {
    const { daily } = await readUsage(area.redis, account_id, USAGE_DAYS, area.now());
    return send('usage', USAGE_COLUMNS, daily.map(usageRow));
  }
  throw new PageError(422, `format: there is no list "${format}"`);
}

/** The whole ledger, newest first, read in pages; a row with kind `missing` stands for entries that cannot be read. */
async function* ledgerRows(area: AdminArea, account_id: string): AsyncGenerator<Cell[]> {
  for await (const item of readWholeLedger(area.accounts, account_id))
    yield isGap(item) ? ['', '', 'missing', ...EMPTY_CELLS, item.message] : ledgerRow(item);
}

function ledgerRow({ id, at_ms, kind, delta, balance, cause, reason }: LedgerEntry): Cell[] {
  const {
    by = '',
    order_id = '',
    request_id = '',
    route = '',
    key_id = '',
    rows = '',
    more_indicators = '',
  } = { ...cause, indicators: undefined } as Partial<Record<string, string | number>>;
  const indicators = 'indicators' in cause ? (cause.indicators?.join(' ') ?? '') : '';
  return [
    id,
    iso(at_ms),
    kind,
    delta,
    balance,
    by,
    order_id,
    request_id,
    route,
    key_id,
    rows,
    indicators,
    more_indicators,
    reason,
  ];
}
