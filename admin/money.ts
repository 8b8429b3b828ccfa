/** What the dashboard shows first: what customers owe, what is overdue, and what was paid and paid back of late. */
import { dateText } from '../gateway/commerce/orders/orders.ts';
import type { OrderRecord } from '../gateway/commerce/store/store.ts';
import type { AdminArea } from './context.ts';

/** Orders of one kind, with the sum of their prices by currency. */
interface Sum {
  label: string;
  /** The page that lists them. */
  path: string;
  orders: number;
  amounts: { currency: string; minor: number }[];
}

const sum = (label: string, path: string, orders: readonly OrderRecord[]): Sum => ({
  ...{ label, path, orders: orders.length },
  amounts: [...Map.groupBy(orders, ({ currency }) => currency)].map(([currency, some]) => ({
    currency,
    minor: some.reduce((total, { price_minor }) => total + price_minor, 0),
  })),
});

/** Months are those of UTC; an order counts in the month in which it became what it is. */
export async function summariseMoney({ accounts, now }: Pick<AdminArea, 'accounts' | 'now'>): Promise<Sum[]> {
  const orders = await accounts.orders.listAll({ limit: Number.POSITIVE_INFINITY });
  const owed = orders.filter(({ state, payment }) => state === 'pending' && payment === 'invoice');
  const isLate = await Promise.all(
    owed.map(async ({ order_id }) => {
      const invoice = (await accounts.orders.invoices.issuedOf(order_id)).at(-1);
      return (invoice?.due_at_ms ?? Number.POSITIVE_INFINITY) < now();
    }),
  );
  const thisMonth = dateText(now()).slice(0, 7);
  const lastMonth = dateText(Date.parse(`${thisMonth}-01`) - 1).slice(0, 7);
  const moved = (to: OrderRecord['state'], month: string): OrderRecord[] =>
    orders.filter(({ state, moved_at_ms }) => state === to && dateText(moved_at_ms).startsWith(month));
  const listed = (state: string): string => `/admin/orders?status=${state}`;
  return [
    sum('Owed by invoice', listed('pending'), owed),
    sum(
      'Overdue',
      listed('pending'),
      owed.filter((_, index) => isLate[index]),
    ),
    sum(`Paid in ${thisMonth}`, listed('paid'), moved('paid', thisMonth)),
    sum(`Paid in ${lastMonth}`, listed('paid'), moved('paid', lastMonth)),
    sum(`Paid back in ${thisMonth}`, listed('refunded'), moved('refunded', thisMonth)),
  ];
}
