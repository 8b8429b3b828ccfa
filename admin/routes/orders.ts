/**
 * Searches the orders of all accounts and changes their status by hand, such as for a paid invoice or a refund. Lists the
 * invoices and credit notes of a year, for bookkeeping, and gives each as PDF.
 */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { accountSubject } from '../../gateway/commerce/history/history.ts';
import {
  createInvoicePrinter,
  dateText,
  type InvoiceDocument,
  rateText,
} from '../../gateway/commerce/orders/orders.ts';
import {
  type Confirmation,
  confirmedAction,
  counted,
  formatChange,
  formatCount,
  REASON,
} from '../../gateway/commerce/people/people.ts';
import type { AccountRecord, OrderRecord, OrderState } from '../../gateway/commerce/store/store.ts';
import {
  formatField,
  integerField,
  parseFields,
  sendPdf,
  TableSort,
  textField,
  withQuery,
} from '../../gateway/web/forms.ts';
import { TEMPLATE_FILTERS } from '../../gateway/web/templates.ts';
import { type AdminArea, idOf, userPath } from '../context.ts';
import { listLinks, sendRecords } from '../list.ts';

const INVOICES_PATH = '/admin/invoices';
const FIRST_YEAR = 2000;
const LAST_YEAR = 9999;
/** Shown on the page; the CSV has all. */
const MAX_INVOICES = 200;

/** Customers, and invoices, whose orders one search reads, the newest ones. */
const MAX_FOUND = 500;

const ORDER_SORT = new TableSort<OrderRecord>({
  id: ({ order_id }) => order_id,
  customer: ({ account_id }) => account_id,
  credits: ({ credits }) => credits,
  price: ({ price_minor }) => price_minor,
  status: ({ state }) => state,
  created: ({ created_at_ms }) => created_at_ms,
});

const PATH = '/admin/orders';
const TARGETS = ['paid', 'failed', 'cancelled', 'refunded'] as const;
type Target = (typeof TARGETS)[number];
const STATES = ['pending', ...TARGETS] as const satisfies OrderState[];
/** Status changes that an operator can make. */
const MOVES = {
  paid: { from: 'pending', label: 'Mark paid', title: 'Mark as paid: order' },
  failed: { from: 'pending', label: 'Mark failed', title: 'Mark as failed: order' },
  cancelled: { from: 'pending', label: 'Cancel order', title: 'Cancel order' },
  refunded: { from: 'paid', label: 'Refund', title: 'Refund order' },
} as const satisfies Record<Target, { from: OrderState; label: string; title: string }>;

const query = z.object({
  q: textField(200),
  status: textField(50),
  sort: ORDER_SORT.field,
  limit: integerField(1, 1_000, 100),
  format: formatField,
});

export const ORDER_COLUMNS = [
  ...['order_id', 'account_id', 'status', 'pack', 'credits', 'price_minor', 'currency'],
  ...['created_at', 'moved_at', 'shortfall'],
];

export const orderRecord = (order: OrderRecord) => ({
  ...order,
  status: order.state,
  pack: order.pack_id,
});

const isState = (word: string): word is OrderState => STATES.some((state) => state === word);

export function ordersRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view('orders.njk');

  scope.get('/orders', async (request, reply) => {
    const { q, status, sort, limit, format } = parseFields(query, request.query);
    const find = async (most: number): Promise<OrderRecord[]> => {
      if (status === '') return findOrders(area, { q, sort, limit: most });
      // An unknown status matches nothing.
      return isState(status) ? findOrders(area, { q, state: status, sort, limit: most }) : [];
    };
    if (format === 'csv')
      return sendRecords(
        reply,
        'orders',
        ORDER_COLUMNS,
        (await find(Number.MAX_SAFE_INTEGER)).map(orderRecord),
      );
    const orders = await find(limit);
    const filters = { q, status };
    return view(reply, 'Orders', {
      ...filters,
      states: STATES,
      ...listLinks(PATH, filters, { order: ORDER_SORT, sort, limit }),
      limit,
      orders: await Promise.all(
        orders.map(async (order) => ({
          ...order,
          user: userPath(order.account_id),
          ...(await invoicingOf(area, order)),
          moves: TARGETS.filter((to) => MOVES[to].from === order.state).map((to) => ({ to, ...MOVES[to] })),
        })),
      ),
    });
  });

  confirmedAction(scope, area, {
    path: '/orders/:id/move',
    fields: z.object({ to: z.enum(TARGETS) }),
    reason: () => REASON,
    async ask(request, { to }) {
      const order = await area.accounts.orders.get(idOf(request));
      return orderMove(order, await area.accounts.get(order.account_id), to);
    },
    async act(request, _reply, { fields: { to }, reason }) {
      const { order_id, account_id, state } = await area.accounts.orders.get(idOf(request));
      const { order, balance } = await request.audited(
        {
          action: `order.${to}`,
          subject: accountSubject(account_id),
          before: { order: order_id, state },
          after: { order: order_id, state: to },
          reason,
        },
        () => area.accounts.orders.move(order_id, to, 'operator'),
        ({ order, balance, changed }) =>
          changed
            ? { after: { order: order_id, state: order.state, balance, shortfall: order.shortfall } }
            : null,
      );
      const short =
        order.shortfall > 0
          ? ` ${counted(order.shortfall, 'credit was', 'credits were')} already spent and could not be taken back.`
          : '';
      const notice = `Order ${order_id} is ${order.state}; the balance is ${formatCount(balance)}.${short}`;
      return { path: PATH, notice };
    },
  });
  invoicesRoutes(scope, area);
}

async function invoicingOf({ accounts, now }: AdminArea, order: OrderRecord) {
  const documents = await accounts.orders.invoices.issuedOf(order.order_id);
  const payer = documents.at(-1)?.buyer;
  const due_at_ms = order.state === 'pending' ? (documents.at(-1)?.due_at_ms ?? null) : null;
  return {
    payer: payer?.lines[0] ?? payer?.email ?? null,
    invoices: documents.map(({ number }) => ({ number, pdf: invoicePdfPath(number) })),
    due: due_at_ms === null ? null : dateText(due_at_ms),
    isOverdue: due_at_ms !== null && due_at_ms < now(),
  };
}

/** What a change of status will do, with the balance as it is now. */
function orderMove(
  order: OrderRecord,
  { email, credits: { balance } }: AccountRecord,
  to: Target,
): Confirmation {
  const { order_id, account_id, credits, state, payment } = order;
  const price = TEMPLATE_FILTERS.money(order.price_minor, order.currency);
  const after = { paid: balance + credits, refunded: Math.max(0, balance - credits) };
  const next = to === 'paid' || to === 'refunded' ? after[to] : balance;
  const spent = to === 'refunded' ? credits - (balance - next) : 0;
  const effects = {
    paid: [
      `States that ${price} have arrived and gives ${counted(credits, 'credit', 'credits')} to ${email}.`,
      'Check the bank account first. Only a refund reverses it.',
    ],
    refunded: [
      `States that ${price} were paid back and takes the credits of the order from ${email}. It moves no money.`,
      ...(spent > 0
        ? [`${counted(spent, 'credit was', 'credits were')} already spent and cannot be taken back.`]
        : []),
      'This cannot be undone.',
    ],
    failed: ['States that the payment failed. No credits are given. This cannot be undone.'],
    cancelled: ['Cancels the order. No credits are given. This cannot be undone.'],
  } satisfies Record<Target, string[]>;
  return {
    title: `${MOVES[to].title} ${order_id}`,
    effects: effects[to],
    figures: [
      { label: 'Customer', value: `${email}, ${account_id}` },
      { label: 'Order', value: `${order.pack_name}, ${counted(credits, 'credit', 'credits')} for ${price}` },
      { label: 'Payment', value: payment === 'stripe' ? 'card, through Stripe' : 'invoice' },
      { label: 'Status', value: `${state} → ${to}` },
      { label: 'Balance', value: formatChange(balance, next) },
    ],
    button: MOVES[to].label,
    isHarmless: to === 'paid',
    values: { to },
    back: PATH,
  };
}

interface OrderQuery {
  /** Part of the number of order or invoice, of the payer on the invoice, or of e-mail address, name or id; empty for all. */
  q: string;
  /** Undefined for any. */
  state?: OrderState;
  /** See `ORDER_SORT`; blank for newest first. */
  sort: string;
  limit: number;
}

async function findOrders(
  area: Pick<AdminArea, 'accounts' | 'index'>,
  { q, state, sort, limit }: OrderQuery,
): Promise<OrderRecord[]> {
  if (q === '') {
    const all = { ...(state && { state }), limit: sort === '' ? limit : Number.MAX_SAFE_INTEGER };
    return ORDER_SORT.sort(await area.accounts.orders.listAll(all), sort).slice(0, limit);
  }
  const all = await Promise.all([
    ordersNumbered(area, q),
    ordersInvoiced(area, q),
    ordersOfCustomers(area, q),
  ]);
  const found = new Map(all.flat().map((order) => [order.order_id, order]));
  const matching = [...found.values()]
    .filter((order) => !state || order.state === state)
    .toSorted((a, b) => b.created_at_ms - a.created_at_ms);
  return ORDER_SORT.sort(matching, sort).slice(0, limit);
}

async function ordersNumbered({ accounts }: Pick<AdminArea, 'accounts'>, part: string) {
  const ids = await accounts.orders.findIds(part.toLowerCase());
  return Promise.all(ids.map((id) => accounts.orders.get(id)));
}

async function ordersInvoiced({ accounts }: Pick<AdminArea, 'accounts'>, text: string) {
  const documents = await accounts.orders.invoices.search(text, MAX_FOUND);
  return Promise.all(
    [...new Set(documents.map(({ order_id }) => order_id))].map((id) => accounts.orders.get(id)),
  );
}

async function ordersOfCustomers({ accounts, index }: Pick<AdminArea, 'accounts' | 'index'>, q: string) {
  const { ids } = await index.search({ q, state: '', limit: MAX_FOUND, offset: 0 });
  return (await Promise.all(ids.map((id) => accounts.orders.list(id)))).flat();
}

const INVOICE_COLUMNS = [
  ...['number', 'kind', 'date', 'due', 'corrects', 'order_id', 'account_id', 'customer', 'country', 'vat_id'],
  ...['vat', 'vat_percent', 'net_minor', 'vat_minor', 'gross_minor', 'currency', 'payment'],
];

const invoicePdfPath = (number: string): string => `${INVOICES_PATH}/${encodeURIComponent(number)}/pdf`;

function invoicesRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view('invoices.njk');
  const { invoices } = area.accounts.orders;
  const print = createInvoicePrinter();

  scope.get('/invoices', async (request, reply) => {
    const thisYear = new Date(area.now()).getUTCFullYear();
    const query = z.object({ year: integerField(FIRST_YEAR, LAST_YEAR, thisYear), format: formatField });
    const { year, format } = parseFields(query, request.query);
    const documents = await invoices.ofYear(String(year));
    if (format === 'csv')
      return sendRecords(reply, `invoices-${year}`, INVOICE_COLUMNS, documents.map(invoiceRecord));
    return view(reply, 'Invoices', {
      year,
      total: documents.length,
      documents: documents
        .slice(-MAX_INVOICES)
        .reverse()
        .map((document) => ({
          ...invoiceRecord(document),
          document,
          rate: rateText(document.vat_rate_bp),
          user: userPath(document.account_id),
          pdf: invoicePdfPath(document.number),
        })),
      csv: withQuery(INVOICES_PATH, { year, format: 'csv' }),
    });
  });

  scope.get('/invoices/:number/pdf', async (request, reply) => {
    const document = await invoices.get((request.params as { number: string }).number);
    return sendPdf(reply, document.number, await print(document));
  });
}

const invoiceRecord = (document: InvoiceDocument) => ({
  ...document,
  date: dateText(document.issued_at_ms),
  due: document.due_at_ms === null ? null : dateText(document.due_at_ms),
  customer: document.buyer.lines[0] ?? document.buyer.email,
  country: document.buyer.country,
  vat_id: document.buyer.vat_id,
  vat_percent: document.vat_rate_bp / 100,
});
