/** Orders: list, place, pay and cancel. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { PageError, parseFields, textField } from '../../../web/forms.ts';
import { TEMPLATE_FILTERS } from '../../../web/templates.ts';
import {
  documentPath,
  type InvoiceDocument,
  orderPath,
  type PaymentMethod,
  PaymentUnavailable,
  salesTermsOf,
  vatAmounts,
  vatSentence,
} from '../../orders/orders.ts';
import { type Confirmation, counted } from '../../people/people.ts';
import { AccountError, type OrderRecord, PAYMENT_IDS } from '../../store/store.ts';
import { type AccountContext, accountIdOf, accountOf, personIdOf, withMakers } from '../context.ts';
import { confirmed } from '../forms.ts';

const orderForm = z.object({ pack: textField(100), payment: z.enum(PAYMENT_IDS) });

/** The order of the path, if it belongs to the signed-in account. */
export async function findOwnOrder(
  { accounts }: AccountContext,
  request: FastifyRequest,
): Promise<OrderRecord> {
  const { order_id } = request.params as { order_id: string };
  const order = await accounts.orders.get(order_id);
  if (order.account_id !== accountIdOf(request))
    throw new AccountError('order_unknown', `There is no order ${order_id}.`);
  return order;
}

const documentLink = ({ kind, number }: InvoiceDocument) => ({
  title: kind === 'invoice' ? 'Invoice' : 'Credit note',
  number,
  path: documentPath(number),
});

function findMethod({ payments }: AccountContext, { payment }: Pick<OrderRecord, 'payment'>): PaymentMethod {
  const method = payments.get(payment);
  if (!method) throw new PageError(409, 'This payment method is no longer offered. Place a new order.');
  return method;
}

export function ordersRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('orders.njk');
  const terms = salesTermsOf(context.settings);
  const sendToCheckout = checkoutView(context);

  scope.get('/orders', async (request, reply) => {
    const account_id = accountIdOf(request);
    const { orders } = context.accounts;
    const billing = await context.billing.get(account_id);
    return view(reply, 'Orders', {
      packs: context.packs,
      payments: [...context.payments.values()],
      billing,
      vat: vatSentence(vatAmounts(terms, billing, 0)),
      orders: await Promise.all(
        (await orders.list(account_id)).map(async (order) => ({
          ...order,
          path: orderPath(order.order_id),
          documents: (await orders.invoices.issuedOf(order.order_id)).map(documentLink),
        })),
      ),
    });
  });

  scope.post('/orders', async (request, reply) => {
    const { pack, payment } = parseFields(orderForm, request.body);
    findMethod(context, { payment });
    const account_id = accountIdOf(request);
    const order = await request.audited(
      { action: 'order.place', after: { pack, payment } },
      () => context.accounts.orders.create(account_id, pack, payment, personIdOf(request)),
      ({ order_id, credits }) => ({ after: { order_id, pack, credits, payment } }),
    );
    return sendToCheckout(request, reply, order);
  });
}

/** Starts a payment: redirects to an own page, and shows a page with a link before leaving for another site. */
function checkoutView(context: AccountContext) {
  const view = context.view('checkout.njk');
  const terms = salesTermsOf(context.settings);
  return async (request: FastifyRequest, reply: FastifyReply, order: OrderRecord): Promise<FastifyReply> => {
    const customer = await accountOf(context, request);
    const begun = findMethod(context, order).startCheckout(order, customer);
    const { url, isExternal } = await begun.catch((error: unknown) => {
      throw error instanceof PaymentUnavailable ? new PageError(503, error.message) : error;
    });
    if (!isExternal) return reply.leadTo(url);
    const billing = await context.billing.get(order.account_id);
    const vat = vatSentence(vatAmounts(terms, billing, order.price_minor));
    return view(reply, 'Pay', { order, url, path: orderPath(order.order_id), vat });
  };
}

export function orderRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('order.njk');
  const terms = salesTermsOf(context.settings);
  const sendToCheckout = checkoutView(context);

  scope.get('/orders/:order_id', async (request, reply) => {
    const found = await findOwnOrder(context, request);
    const [order = found] = await withMakers(context.persons, [found]);
    const { order_id, payment, price_minor, state } = order;
    const documents = await context.accounts.orders.invoices.issuedOf(order.order_id);
    const billing = await context.billing.get(order.account_id);
    const invoice = documents.findLast(({ kind }) => kind === 'invoice');
    return view(reply, 'Order', {
      order,
      path: orderPath(order_id),
      documents: documents.map(documentLink),
      vat: vatSentence(invoice ?? vatAmounts(terms, billing, price_minor)),
      due_at_ms: state === 'pending' ? (invoice?.due_at_ms ?? null) : null,
      payment: context.payments.get(payment)?.label ?? payment,
    });
  });

  scope.post('/orders/:order_id/pay', async (request, reply) => {
    const order = await findOwnOrder(context, request);
    if (order.state !== 'pending') throw new PageError(409, `This order is ${order.state}.`);
    return sendToCheckout(request, reply, order);
  });

  confirmed(scope, context, {
    path: '/orders/:order_id/cancel',
    ask: async (request) => cancellation(await findOwnOrder(context, request)),
    async act(request) {
      const { order_id, state, payment } = await findOwnOrder(context, request);
      // A card payment may be under way at Stripe, which reports a cancelled session by webhook.
      if (payment !== 'invoice') throw new PageError(409, 'Cancel this order on the page where it is paid.');
      const facts = { before: { order_id, state }, after: { order_id, state: 'cancelled' } };
      await request.audited(
        { action: 'order.cancel', ...facts },
        () => context.accounts.orders.move(order_id, 'cancelled', personIdOf(request)),
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
  back: orderPath(order.order_id),
});
