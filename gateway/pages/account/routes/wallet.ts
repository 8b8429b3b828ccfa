/** The wallet: balance, every entry of the ledger with its cause, and when to be told that it runs low. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { wholeLedger } from '../../../accounts/ledger-history.ts';
import type { AccountRecord, LedgerEntry } from '../../../accounts/records.ts';
import { isGap } from '../../../archive/entries.ts';
import { type Cell, sendCsv } from '../../shared/csv-export.ts';
import { formatField, parseFields, textField, withQuery } from '../../shared/forms.ts';
import { redirectWithFlash } from '../../shared/protected-area.ts';
import { type AccountContext, accountIdOf, accountOf, auditedChange } from '../context.ts';

const PAGE = 50;
const query = z.object({
  before: z
    .string()
    .regex(/^\d{1,16}-\d{1,16}$/, 'the id of an entry')
    .optional(),
  format: formatField,
});
const alertForm = z.object({ low_at: textField(20) });
const COLUMNS = [
  'id',
  'at',
  'kind',
  'delta',
  'balance',
  'order_id',
  'request_id',
  'route',
  'key_id',
  'rows',
  'reason',
];

interface WalletPage {
  account: AccountRecord;
  ledger: LedgerEntry[];
  /** What comes after these entries and cannot be shown. */
  gap: string | null;
  newest: string | null;
  older: string | null;
  csv: string;
  form: { low_at: string; problem: string };
}

export function walletRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view<WalletPage>('wallet.njk');

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { before, form }: { before?: string | undefined; form?: WalletPage['form'] },
  ): Promise<FastifyReply> => {
    const account_id = accountIdOf(request);
    const low_at = await context.alerts.get(account_id);
    const { entries, gap } = await context.accounts.ledgerPage(account_id, {
      limit: PAGE + 1,
      ...(before !== undefined && { before }),
    });
    const ledger = entries.slice(0, PAGE);
    const isLast = entries.length <= PAGE;
    const last = isLast ? gap?.before : ledger.at(-1)?.id;
    return view(reply, 'Wallet', {
      account: await accountOf(context, request),
      ledger,
      newest: before === undefined ? null : '/account/wallet',
      gap: isLast ? (gap?.message ?? null) : null,
      older: last ? withQuery('/account/wallet', { before: last }) : null,
      csv: '/account/wallet?format=csv',
      form: form ?? { low_at: low_at === null ? '' : String(low_at), problem: '' },
    });
  };

  scope.get('/wallet', async (request, reply) => {
    const { before, format: wanted } = parseFields(query, request.query);
    if (wanted === 'html') return show(request, reply, { before });
    return sendCsv(reply, 'ledger', COLUMNS, rowsOf(context, accountIdOf(request)));
  });

  scope.post('/wallet/alert', async (request, reply) => {
    const { low_at: sent } = parseFields(alertForm, request.body);
    const low_at = sent === '' || sent === '0' ? null : /^\d{1,12}$/.test(sent) ? Number(sent) : Number.NaN;
    if (Number.isNaN(low_at)) {
      const form = { low_at: sent, problem: 'A threshold is a whole number of credits; blank for no mail.' };
      return show(request, reply.code(422), { form });
    }
    const account_id = accountIdOf(request);
    const before = await context.alerts.get(account_id);
    const facts = { before: { low_at: before }, after: { low_at } };
    await auditedChange(context, request, { action: 'account.alert', ...facts }, () =>
      context.alerts.set(account_id, low_at),
    );
    const said =
      low_at === null ? 'No mail is sent.' : `A mail is sent when fewer than ${low_at} credits are left.`;
    return redirectWithFlash(context, reply, '/account/wallet', said);
  });
}

async function* rowsOf({ accounts }: AccountContext, account_id: string): AsyncGenerator<Cell[]> {
  for await (const entry of wholeLedger(accounts, account_id)) {
    if (isGap(entry)) {
      yield ['', '', 'missing', null, null, null, null, null, null, null, entry.message];
      continue;
    }
    const { id, at_ms, kind, delta, balance, cause, reason } = entry;
    const order_id = 'order_id' in cause ? cause.order_id : null;
    const call =
      'route' in cause ? [cause.request_id, cause.route, cause.key_id, cause.rows] : [null, null, null, null];
    yield [id, new Date(at_ms).toISOString(), kind, delta, balance, order_id, ...call, reason];
  }
}
