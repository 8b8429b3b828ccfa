/**
 * Orders of credit packs, their payment by invoice or card, and the invoices.
 *
 * - A paid order grants its credits exactly once; a refund takes back what is left and states the shortfall. Order,
 *   balance, ledger entry and event are one script.
 * - The state of a card order follows from the set of reports of Stripe, whatever their sequence and repetition.
 * - Whoever changes an order has its invoice or credit note issued; the sweep issues what a crash left.
 * - Numbers of invoices have no gaps within a year. An issued document never changes; a credit note takes it back.
 * - Nothing is charged here: the price and its VAT are stated, the payment provider or a bank transfer moves the money.
 */
export * from './billing-details.ts';
export * from './document.ts';
export * from './invoice-text.ts';
export * from './order-store.ts';
export * from './payment.ts';
export * from './print-invoice.ts';
export * from './sales-terms.ts';
export * from './stripe.ts';
export * from './vat.ts';
