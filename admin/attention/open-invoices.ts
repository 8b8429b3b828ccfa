/** Orders by invoice that nobody has marked as paid, failed or cancelled. */
import { DAY_MS } from '../../data/schema/redis-keys.ts';
import { type AttentionItem, type AttentionSource, capped, counted } from './item.ts';

const PATH = '/admin/orders?status=pending';
const MAX_READ = 1_000;
const MAX_SHOWN = 10;
/** Usual term of payment. */
const OVERDUE_DAYS = 30;

export const openInvoices: AttentionSource = {
  finds: 'open invoices',
  async find({ area, now_ms }) {
    const pending = await area.accounts.orders.listAll({ state: 'pending', limit: MAX_READ });
    const invoices = pending
      .filter(({ payment }) => payment === 'invoice')
      .sort((a, b) => a.created_at_ms - b.created_at_ms);
    const items = invoices.map((order): AttentionItem => {
      const isOverdue = now_ms - order.created_at_ms > OVERDUE_DAYS * DAY_MS;
      const amount = `${(order.price_minor / 100).toFixed(2)} ${order.currency}`;
      return {
        severity: isOverdue ? 'warning' : 'notice',
        what: `Invoice ${order.order_id} over ${amount} is ${isOverdue ? 'overdue' : 'open'}.`,
        since_ms: order.created_at_ms,
        path: PATH,
        action: 'Mark it paid or cancel it',
      };
    });
    return capped(
      items,
      MAX_SHOWN,
      (rest) => `${counted(rest, 'more invoice is', 'more invoices are')} open.`,
    );
  },
};
