/** The wallet: balance, and ledger with the cause of each entry. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Cell, formatField, parseFields, sendCsv, withQuery } from '../../../web/forms.ts';
import { isGap, readWholeLedger } from '../../history/history.ts';
import type { LedgerEntry } from '../../store/store.ts';
import { type AccountContext, accountIdOf, accountOf } from '../context.ts';

const PAGE_SIZE = 50;
const query = z.object({
  before: z
    .string()
    .regex(/^\d{1,16}-\d{1,16}$/, 'the id of an entry')
    .optional(),
  format: formatField,
});
const DEBIT_COLUMNS = ['request_id', 'route', 'key_id', 'rows', 'indicators', 'more_indicators'];
const COLUMNS = ['id', 'at', 'kind', 'delta', 'balance', 'order_id', ...DEBIT_COLUMNS, 'reason'];

export function walletRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('wallet.njk');

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    before: string | undefined,
  ): Promise<FastifyReply> => {
    const account_id = accountIdOf(request);
    const { entries, gap } = await context.accounts.ledgerPage(account_id, { limit: PAGE_SIZE + 1, before });
    const ledger = entries.slice(0, PAGE_SIZE);
    const isLast = entries.length <= PAGE_SIZE;
    const last = isLast ? gap?.before : ledger.at(-1)?.id;
    return view(reply, 'Wallet', {
      account: await accountOf(context, request),
      ledger,
      newest: before === undefined ? null : '/account/wallet',
      gap: isLast ? (gap?.message ?? null) : null,
      older: last ? withQuery('/account/wallet', { before: last }) : null,
      csv: '/account/wallet?format=csv',
    });
  };

  scope.get('/wallet', async (request, reply) => {
    const { before, format } = parseFields(query, request.query);
    if (format === 'html') return show(request, reply, before);
    return sendCsv(reply, 'ledger', COLUMNS, ledgerRows(context, accountIdOf(request)));
  });
}

async function* ledgerRows({ accounts }: AccountContext, account_id: string): AsyncGenerator<Cell[]> {
  for await (const entry of readWholeLedger(accounts, account_id)) {
    if (isGap(entry)) {
      yield ['', '', 'missing', ...COLUMNS.slice(4).map(() => null), entry.message];
      continue;
    }
    const { id, at_ms, kind, delta, balance, cause, reason } = entry;
    const order_id = 'order_id' in cause ? cause.order_id : null;
    const debit = 'route' in cause ? debitCells(cause) : DEBIT_COLUMNS.map(() => null);
    yield [id, new Date(at_ms).toISOString(), kind, delta, balance, order_id, ...debit, reason];
  }
}

const debitCells = (cause: Extract<LedgerEntry['cause'], { route: string }>): Cell[] => [
  ...[cause.request_id, cause.route, cause.key_id, cause.rows],
  ...[cause.indicators?.join(' ') ?? null, cause.more_indicators ?? null],
];
