/** What events of Stripe report about orders. */
import type { Stripe } from 'stripe';
import type { OrderRecord } from '../store/store.ts';
import type { PaymentReport } from './order-store.ts';

export interface OrderReport {
  order_id: string;
  report: PaymentReport;
  amount: number | null;
  currency: string | null;
}

/** Null for events that concern no order. */
export function reportOf(event: Stripe.Event): OrderReport | null {
  switch (event.type) {
    case 'checkout.session.completed':
      // A payment that takes days is reported by a later event.
      return event.data.object.payment_status === 'paid' ? fromSession(event.data.object, 'paid') : null;
    case 'checkout.session.async_payment_succeeded':
      return fromSession(event.data.object, 'paid');
    case 'checkout.session.async_payment_failed':
      return fromSession(event.data.object, 'failed');
    case 'checkout.session.expired':
      return fromSession(event.data.object, 'expired');
    case 'charge.refunded':
      return fromCharge(event.data.object);
    default:
      return null;
  }
}

export function fromSession(
  session: Stripe.Checkout.Session,
  kind: 'paid' | 'failed' | 'expired',
): OrderReport | null {
  const order_id = session.metadata?.order_id;
  if (order_id === undefined) return null;
  const report = { kind, session_id: session.id, payment_id: idOf(session.payment_intent) };
  return { order_id, report, amount: session.amount_total, currency: session.currency };
}

/** Only a full refund takes the credits back; for a partial one an operator decides. */
function fromCharge(charge: Stripe.Charge): OrderReport | null {
  const order_id = charge.metadata.order_id;
  if (order_id === undefined || !charge.refunded) return null;
  const report = { kind: 'refunded', session_id: '', payment_id: idOf(charge.payment_intent) } as const;
  return { order_id, report, amount: charge.amount, currency: charge.currency };
}

const idOf = (payment: Stripe.PaymentIntent | string | null | undefined): string =>
  typeof payment === 'string' ? payment : (payment?.id ?? '');

/** Why a report does not match its order; null if it does. */
export function mismatchOf(order: OrderRecord, { amount, currency }: OrderReport): string | null {
  if (order.payment !== 'stripe') return 'the order is not paid through Stripe';
  if (amount !== null && amount !== order.price_minor) return `${amount} is not the price of the order`;
  if (currency !== null && currency.toUpperCase() !== order.currency)
    return `${currency} is not the order's currency`;
  return null;
}
