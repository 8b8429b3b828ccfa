/**
 * Invoices and credit notes: what they say, and which one an order needs next.
 *
 * An order by invoice is invoiced when it is placed, an order by card when it is paid. Whatever ends the claim (a refund,
 * a cancellation, a failed payment) takes the invoice back with a credit note.
 */
import { z } from 'zod';
import { DAY_MS } from '../../../data/schema/redis-keys.ts';
import { type AccountRecord, type OrderRecord, PAYMENT_IDS } from '../store/store.ts';
import type { BillingDetails } from './billing-details.ts';
import type { SalesTerms } from './sales-terms.ts';
import { VAT_TREATMENTS, vatAmounts } from './vat.ts';

const lines = z.array(z.string());

/** As stored: never changed. Amounts in minor units, negative in a credit note; times in Unix milliseconds. */
export const issuedDocument = z.object({
  kind: z.enum(['invoice', 'credit_note']),
  order_id: z.string(),
  account_id: z.string(),
  issued_at_ms: z.number(),
  /** Null where nothing is to be paid by transfer. */
  due_at_ms: z.number().nullable(),
  /** Number of the invoice that a credit note takes back; null for an invoice. */
  corrects: z.string().nullable(),
  seller: z.object({ lines, vat_id: z.string(), pay_to: lines }),
  buyer: z.object({ lines, email: z.string(), country: z.string(), vat_id: z.string() }),
  payment: z.enum(PAYMENT_IDS),
  pack_name: z.string(),
  credits: z.number(),
  currency: z.string(),
  vat: z.enum(VAT_TREATMENTS),
  vat_rate_bp: z.number(),
  gross_minor: z.number(),
  net_minor: z.number(),
  vat_minor: z.number(),
});
export type IssuedDocument = z.infer<typeof issuedDocument>;

/** Its number is like `2026-000123`. */
export type InvoiceDocument = IssuedDocument & { number: string };

/** Whether the seller has a claim to the price, or has been paid. */
const isOwedOrPaid = ({ state, payment }: OrderRecord): boolean =>
  state === 'paid' || (state === 'pending' && payment === 'invoice');

/** What must be issued for an order in its state, after the documents that it has; null if nothing. */
export function nextDocument(
  order: OrderRecord,
  issued: readonly Pick<IssuedDocument, 'kind'>[],
): IssuedDocument['kind'] | null {
  const last = issued.at(-1)?.kind;
  if (isOwedOrPaid(order)) return last === 'invoice' ? null : 'invoice';
  if (last === 'invoice') return 'credit_note';
  // A refund by card can be reported before its payment; both were money that moved.
  return last === undefined && order.state === 'refunded' ? 'invoice' : null;
}

/** @param billing null where no details were entered */
export function invoiceOf(
  order: OrderRecord,
  { account, billing }: { account: AccountRecord; billing: BillingDetails | null },
  terms: SalesTerms,
  issued_at_ms: number,
): IssuedDocument {
  const { seller, vat_id, pay_to } = terms;
  const { order_id, account_id, payment, pack_name, credits, currency } = order;
  return {
    kind: 'invoice',
    corrects: null,
    order_id,
    account_id,
    payment,
    pack_name,
    credits,
    currency,
    seller: { lines: seller, vat_id, pay_to },
    issued_at_ms,
    due_at_ms: order.payment === 'invoice' ? issued_at_ms + terms.due_days * DAY_MS : null,
    buyer: buildBuyer(account, billing),
    ...vatAmounts(terms, billing, order.price_minor),
  };
}

/** Takes an invoice back with the same parties and amounts. */
export const creditNoteOf = (
  { number, ...invoice }: InvoiceDocument,
  issued_at_ms: number,
): IssuedDocument => ({
  ...invoice,
  kind: 'credit_note',
  corrects: number,
  issued_at_ms,
  due_at_ms: null,
  gross_minor: -invoice.gross_minor,
  net_minor: -invoice.net_minor,
  vat_minor: 0 - invoice.vat_minor,
});

function buildBuyer({ name, email }: AccountRecord, billing: BillingDetails | null): IssuedDocument['buyer'] {
  if (billing === null) return { lines: name === '' ? [] : [name], email, country: '', vat_id: '' };
  const { address, country, country_name, vat_id } = billing;
  return { lines: [billing.name, ...address, country_name], email, country, vat_id };
}
