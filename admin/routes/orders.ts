/** Lists orders of all accounts and changes their status by hand, such as for a paid invoice or a refund. */

import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { accountSubject } from '../../gateway/accounts/audit/audit-log.ts';
import type { OrderRecord, OrderState } from '../../gateway/accounts/records.ts';
import { type Cell, sendCsv } from '../../gateway/pages/shared/csv-export.ts';
import {
  formatField,
  integerField,
  parseFields,
  textField,
  withQuery,
} from '../../gateway/pages/shared/forms.ts';
import { redirectWithFlash } from '../../gateway/pages/shared/protected-area.ts';
import { type AdminArea, auditedChange, userPath } from '../context.ts';

const PATH = '/admin/orders';
const STATES = ['pending', 'paid', 'failed', 'cancelled', 'refunded'] as const satisfies OrderState[];
/** Status changes that an operator can make, by current status, with button labels. */
const MOVES = {
  pending: [
    { to: 'paid', label: 'Mark paid' },
    { to: 'failed', label: 'Mark failed' },
    { to: 'cancelled', label: 'Cancel' },
  ],
  paid: [{ to: 'refunded', label: 'Refund' }],
  failed: [],
  cancelled: [],
  refunded: [],
} as const satisfies Record<OrderState, readonly { to: OrderState; label: string }[]>;

const query = z.object({ status: textField(50), limit: integerField(1, 1_000, 100), format: formatField });
const form = z.object({ to: z.enum(['paid', 'failed', 'cancelled', 'refunded']) });

interface OrdersPage {
  status: string;
  states: readonly string[];
  limit: number;
  orders: (OrderRecord & { user: string; moves: readonly { to: string; label: string }[] })[];
  csv: string;
}

export const ORDER_COLUMNS = [
  ...['order_id', 'account_id', 'status', 'pack', 'credits', 'price_minor', 'currency'],
  ...['created_at', 'moved_at', 'shortfall'],
];

export const orderRow = (order: OrderRecord): Cell[] => [
  ...[order.order_id, order.account_id, order.state, order.pack_id],
  ...[order.credits, order.price_minor, order.currency],
  ...[order.created_at_ms, order.moved_at_ms].map((ms) => new Date(ms).toISOString()),
  order.shortfall,
];

const isState = (word: string): word is OrderState => STATES.some((state) => state === word);

export function ordersRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view<OrdersPage>('orders.njk');

  /** An unknown status matches nothing. */
  async function ordersOf(status: string, limit: number): Promise<OrderRecord[]> {
    if (status === '') return area.accounts.orders.listAll({ limit });
    return isState(status) ? area.accounts.orders.listAll({ state: status, limit }) : [];
  }

  scope.get('/orders', async (request, reply) => {
    const { status, limit, format } = parseFields(query, request.query);
    if (format === 'csv')
      return sendCsv(
        reply,
        'orders',
        ORDER_COLUMNS,
        (await ordersOf(status, Number.MAX_SAFE_INTEGER)).map(orderRow),
      );
    const orders = await ordersOf(status, limit);
    return view(reply, 'Orders', {
      status,
      states: STATES,
      limit,
      orders: orders.map((order) => ({
        ...order,
        user: userPath(order.account_id),
        moves: MOVES[order.state],
      })),
      csv: withQuery(PATH, { status, format: 'csv' }),
    });
  });

  scope.post<{ Params: { id: string } }>('/orders/:id/move', async (request, reply) => {
    const { to } = parseFields(form, request.body);
    const before = await area.accounts.orders.get(request.params.id);
    const { order_id, account_id, state } = before;
    const { order, balance } = await auditedChange(
      area,
      request,
      {
        action: `order.${to}`,
        subject: accountSubject(account_id),
        before: { order: order_id, state },
        after: { order: order_id, state: to },
      },
      () => area.accounts.orders.move(order_id, to),
      ({ order, balance, changed }) =>
        changed
          ? { after: { order: order_id, state: order.state, balance, shortfall: order.shortfall } }
          : null,
    );
    const short =
      order.shortfall > 0
        ? ` ${order.shortfall} credits were already spent and could not be taken back.`
        : '';
    return redirectWithFlash(
      area,
      reply,
      PATH,
      `Order ${order.order_id} is ${order.state}; the balance is ${balance}.${short}`,
    );
  });
}
