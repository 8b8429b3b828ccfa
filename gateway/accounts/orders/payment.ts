/**
 * Ways to pay an order. What all of them have in common: the order exists before, nothing is granted here, and the
 * order's own move to `paid` grants its credits once, whoever asks for it and however often.
 */
import type { OrderRecord, PaymentId } from '../records.ts';

export interface PaymentMethod {
  id: PaymentId;
  /** What a person chooses. */
  label: string;
  /** Where to go for paying a pending order. Asking again for the same order gives the same payment. */
  begin(order: OrderRecord, customer: { email: string }): Promise<Checkout>;
}

export interface Checkout {
  url: string;
  /** Somebody else's site, which the person is told before. */
  elsewhere: boolean;
}

/** The payment's provider did not do what it was asked for. Nothing was charged. */
export class PaymentUnavailable extends Error {
  override name = 'PaymentUnavailable';
}

/** Page of an order, and its printable invoice. */
export const orderPath = (order_id: string): string => `/account/orders/${encodeURIComponent(order_id)}`;
export const invoicePath = (order_id: string): string => `${orderPath(order_id)}/invoice`;
