/** Orders by invoice that nobody has marked as paid, failed or cancelled. */
import type { OrderRecord } from '../../gateway/commerce/store/store.ts';
import type { AdminArea } from '../context.ts';
import { type AttentionItem, type AttentionSource, capped, counted } from './item.ts';

const PATH = '/admin/orders?status=pending';
const MAX_READ = 1_000;
const MAX_SHOWN = 10;

export const openInvoices: AttentionSource = {
  finds: 'open invoices',
  async find({ area, now_ms }) {
    const pending = await area.accounts.orders.listAll({ state: 'pending', limit: MAX_READ });
    const orders = pending
      .filter(({ payment }) => payment === 'invoice')
      .sort((a, b) => a.created_at_ms - b.created_at_ms);
    const items = await Promise.all(orders.map((order) => itemOf(area, order, now_ms)));
    return capped(
      items.flat(),
      MAX_SHOWN,
      (rest) => `${counted(rest, 'more invoice is', 'more invoices are')} open.`,
    );
  },
};

/** None for an order whose invoice is not issued yet. */
async function itemOf({ accounts }: AdminArea, order: OrderRecord, now_ms: number): Promise<AttentionItem[]> {
  const invoice = (await accounts.orders.invoices.issuedOf(order.order_id)).at(-1);
  if (!invoice) return [];
  const isOverdue = invoice.due_at_ms !== null && now_ms > invoice.due_at_ms;
  const amount = `${(order.price_minor / 100).toFixed(2)} ${order.currency}`;
  return [
    {
      severity: isOverdue ? 'warning' : 'notice',
      what: `Invoice ${invoice.number} over ${amount} is ${isOverdue ? 'overdue' : 'open'}.`,
      since_ms: order.created_at_ms,
      path: PATH,
      action: 'Mark it paid or cancel it',
    },
  ];
}
