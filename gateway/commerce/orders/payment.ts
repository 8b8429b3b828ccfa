/**
 * Payment methods. The order exists before the payment starts, and a payment grants nothing: only moving the order to
 * `paid` grants its credits, once.
 */
import type { OrderRecord, PaymentId } from '../store/store.ts';

export interface PaymentMethod {
  id: PaymentId;
  /** Shown to the customer. */
  label: string;
  /** Where to pay a pending order. Idempotent: the same order gives the same payment. */
  startCheckout(order: OrderRecord, customer: { email: string }): Promise<Checkout>;
}

export interface Checkout {
  url: string;
  /** Whether the URL is on another site; pages ask before they redirect there. */
  isExternal: boolean;
}

/** The payment provider failed. Nothing was charged. */
export class PaymentUnavailable extends Error {
  override name = 'PaymentUnavailable';
}

export const orderPath = (order_id: string): string => `/account/orders/${encodeURIComponent(order_id)}`;
/** The page of an invoice or a credit note. */
export const documentPath = (number: string): string => `/account/invoices/${encodeURIComponent(number)}`;

/** The customer transfers the money; an operator or the command line marks the order as paid. */
export const invoicePayment: PaymentMethod = {
  id: 'invoice',
  label: 'Invoice and bank transfer',
  startCheckout: async ({ order_id }) => ({ url: `${orderPath(order_id)}/invoice`, isExternal: false }),
};
