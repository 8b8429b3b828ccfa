/** Orders: list, place, pay, cancel, and print the invoice. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { CreditPack } from '../../../../data/schema/curated.ts';
import {
  type Checkout,
  invoicePath,
  orderPath,
  type PaymentMethod,
  PaymentUnavailable,
} from '../../../accounts/orders/payment.ts';
import {
  AccountError,
  type AccountRecord,
  type OrderRecord,
  PAYMENT_IDS,
} from '../../../accounts/records.ts';
import { type Confirmation, confirmedAction, counted } from '../../shared/confirmation.ts';
import { PageError, parseFields, textField } from '../../shared/forms.ts';
import { redirectWithFlash } from '../../shared/protected-area.ts';
import { TEMPLATE_FILTERS } from '../../shared/template-filters.ts';
import { type AccountContext, accountIdOf, accountOf, auditedChange, personIdOf } from '../context.ts';
import { withMakers } from '../makers.ts';

const orderForm = z.object({ pack: textField(100), payment: z.enum(PAYMENT_IDS) });

interface OrdersPage {
  packs: readonly CreditPack[];
  payments: PaymentMethod[];
  orders: (OrderRecord & { path: string })[];
}

interface OrderPage {
  order: OrderRecord;
  path: string;
  invoice: string;
  payment: string;
}

interface InvoicePage {
  order: OrderRecord;
  account: AccountRecord;
  seller: string[];
  pay_to: string;
  path: string;
}

/** The order of the path, if it belongs to the signed-in account. */
async function findOwnOrder({ accounts }: AccountContext, request: FastifyRequest): Promise<OrderRecord> {
  const { order_id } = request.params as { order_id: string };
  const order = await accounts.orders.get(order_id);
  if (order.account_id !== accountIdOf(request))
    throw new AccountError('order_unknown', `There is no order ${order_id}.`);
  return order;
}

function methodOf({ payments }: AccountContext, { payment }: Pick<OrderRecord, 'payment'>): PaymentMethod {
  const method = payments.get(payment);
  if (!method) throw new PageError(409, 'This payment method is no longer offered. Place a new order.');
  return method;
}

export function ordersRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view<OrdersPage>('orders.njk');
  const sendToCheckout = checkoutView(context);

  scope.get('/orders', async (request, reply) => {
    const orders = await context.accounts.orders.list(accountIdOf(request));
    return view(reply, 'Orders', {
      packs: context.packs,
      payments: [...context.payments.values()],
      orders: orders.map((order) => ({ ...order, path: orderPath(order.order_id) })),
    });
  });

  scope.post('/orders', async (request, reply) => {
    const { pack, payment } = parseFields(orderForm, request.body);
    methodOf(context, { payment });
    const account_id = accountIdOf(request);
    const order = await auditedChange(
      context,
      request,
      { action: 'order.place', after: { pack, payment } },
      () => context.accounts.orders.create(account_id, pack, payment, personIdOf(request)),
      ({ order_id, credits }) => ({ after: { order_id, pack, credits, payment } }),
    );
    return sendToCheckout(request, reply, order);
  });
}

/** Starts a payment: redirects to an own page, and shows a page with a link before leaving for another site. */
function checkoutView(context: AccountContext) {
  const view = context.view<{ order: OrderRecord; url: string; path: string }>('checkout.njk');
  return async (request: FastifyRequest, reply: FastifyReply, order: OrderRecord): Promise<FastifyReply> => {
    const { url, isExternal } = await beginCheckout(context, request, order);
    if (!isExternal) return redirectWithFlash(context, reply, url);
    return view(reply, 'Pay', { order, url, path: orderPath(order.order_id) });
  };
}

async function beginCheckout(
  context: AccountContext,
  request: FastifyRequest,
  order: OrderRecord,
): Promise<Checkout> {
  try {
    return await methodOf(context, order).startCheckout(order, await accountOf(context, request));
  } catch (error) {
    if (error instanceof PaymentUnavailable) throw new PageError(503, error.message);
    throw error;
  }
}

export function orderRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view<OrderPage>('order.njk');
  const sendToCheckout = checkoutView(context);

  scope.get('/orders/:order_id', async (request, reply) => {
    const found = await findOwnOrder(context, request);
    const [order = found] = await withMakers(context.persons, [found]);
    const { order_id, payment } = order;
    return view(reply, 'Order', {
      order,
      path: orderPath(order_id),
      invoice: invoicePath(order_id),
      payment: context.payments.get(payment)?.label ?? payment,
    });
  });

  scope.post('/orders/:order_id/pay', async (request, reply) => {
    const order = await findOwnOrder(context, request);
    if (order.state !== 'pending') throw new PageError(409, `This order is ${order.state}.`);
    return sendToCheckout(request, reply, order);
  });

  confirmedAction(scope, context, {
    path: '/orders/:order_id/cancel',
    fields: z.object({}),
    reason: () => null,
    ask: async (request) => cancellation(await findOwnOrder(context, request)),
    async act(request) {
      const { order_id, state, payment } = await findOwnOrder(context, request);
      // A card payment may be under way at Stripe, which reports a cancelled session by webhook.
      if (payment !== 'invoice') throw new PageError(409, 'Cancel this order on the page where it is paid.');
      const facts = { before: { order_id, state }, after: { order_id, state: 'cancelled' } };
      await auditedChange(
        context,
        request,
        { action: 'order.cancel', ...facts },
        () => context.accounts.orders.move(order_id, 'cancelled'),
        ({ changed }) => (changed ? {} : null),
      );
      return { path: orderPath(order_id), notice: 'The order is cancelled.' };
    },
  });
}

const cancellation = (order: OrderRecord): Confirmation => ({
  title: 'Cancel an order',
  effects: ['Nothing is charged and no credits are added. Do not pay the invoice. This cannot be undone.'],
  figures: [
    { label: 'Order', value: order.order_id },
    { label: 'Pack', value: `${order.pack_name}, ${counted(order.credits, 'credit', 'credits')}` },
    { label: 'Price', value: TEMPLATE_FILTERS.money(order.price_minor, order.currency) },
    { label: 'Status', value: order.state },
  ],
  button: 'Cancel order permanently',
  isDestructive: true,
  back: orderPath(order.order_id),
});

export function invoiceRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view<InvoicePage>('invoice.njk');
  const { INVOICE_FROM, INVOICE_PAY_TO } = context.settings;

  scope.get('/orders/:order_id/invoice', async (request, reply) => {
    const order = await findOwnOrder(context, request);
    return view(reply, `Invoice ${order.order_id}`, {
      order,
      account: await accountOf(context, request),
      seller: INVOICE_FROM.split('\n'),
      pay_to: INVOICE_PAY_TO,
      path: orderPath(order.order_id),
    });
  });
}
