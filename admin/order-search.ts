/** Finds orders by customer, number and status. */
import type { OrderRecord, OrderState } from '../gateway/commerce/store/store.ts';
import { TableSort } from '../gateway/web/forms.ts';
import type { AdminArea } from './context.ts';

/** Customers whose orders one search reads, the newest ones. */
const MAX_CUSTOMERS = 500;

export const ORDER_SORT = new TableSort<OrderRecord>({
  id: ({ order_id }) => order_id,
  customer: ({ account_id }) => account_id,
  credits: ({ credits }) => credits,
  price: ({ price_minor }) => price_minor,
  status: ({ state }) => state,
  created: ({ created_at_ms }) => created_at_ms,
});

export interface OrderQuery {
  /** Part of the order number, or of e-mail address, name or id of the customer; empty for all. */
  q: string;
  /** Undefined for any. */
  state?: OrderState;
  /** See `ORDER_SORT`; blank for newest first. */
  sort: string;
  limit: number;
}

export async function findOrders(
  area: Pick<AdminArea, 'accounts' | 'index'>,
  { q, state, sort, limit }: OrderQuery,
): Promise<OrderRecord[]> {
  if (q === '') {
    const all = { ...(state && { state }), limit: sort === '' ? limit : Number.MAX_SAFE_INTEGER };
    return ORDER_SORT.sort(await area.accounts.orders.listAll(all), sort).slice(0, limit);
  }
  const [byNumber, byCustomer] = await Promise.all([ordersNumbered(area, q), ordersOfCustomers(area, q)]);
  const found = new Map([...byNumber, ...byCustomer].map((order) => [order.order_id, order]));
  const matching = [...found.values()]
    .filter((order) => !state || order.state === state)
    .toSorted((a, b) => b.created_at_ms - a.created_at_ms);
  return ORDER_SORT.sort(matching, sort).slice(0, limit);
}

async function ordersNumbered({ accounts }: Pick<AdminArea, 'accounts'>, part: string) {
  const ids = await accounts.orders.findIds(part.toLowerCase());
  return Promise.all(ids.map((id) => accounts.orders.get(id)));
}

async function ordersOfCustomers({ accounts, index }: Pick<AdminArea, 'accounts' | 'index'>, q: string) {
  const { ids } = await index.search({ q, state: '', limit: MAX_CUSTOMERS, offset: 0 });
  return (await Promise.all(ids.map((id) => accounts.orders.list(id)))).flat();
}
