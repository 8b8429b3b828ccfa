/** Payment against an invoice: the person transfers money, and an operator or the command line marks the order paid. */
import { invoicePath, type PaymentMethod } from './payment.ts';

export const invoicePayment: PaymentMethod = {
  id: 'invoice',
  label: 'Invoice and bank transfer',
  begin: async ({ order_id }) => ({ url: invoicePath(order_id), elsewhere: false }),
};
