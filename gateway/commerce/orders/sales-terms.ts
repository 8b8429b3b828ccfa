/** What the seller states on invoices, from the settings. */
import type { Settings } from '../../../data/runtime/settings.ts';

const BASIS_POINTS = 100;

export const salesTermsOf = (settings: Settings) => ({
  /** Name and address of the seller, one line each. */
  seller: linesOf(settings.INVOICE_FROM),
  /** VAT id of the seller; empty without one. */
  vat_id: settings.INVOICE_VAT_ID,
  country: settings.INVOICE_COUNTRY ?? '',
  vat_rate_bp: Math.round(settings.INVOICE_VAT_RATE * BASIS_POINTS),
  /** Bank details, one line each. */
  pay_to: linesOf(settings.INVOICE_PAY_TO),
  /** Days from the issue of an invoice to its due date. */
  due_days: settings.INVOICE_DUE_DAYS,
});
export type SalesTerms = ReturnType<typeof salesTermsOf>;

/** As with no settings: a seller called Almanac, who charges no VAT. */
export const DEFAULT_TERMS: SalesTerms = {
  seller: ['Almanac'],
  vat_id: '',
  country: '',
  vat_rate_bp: 0,
  pay_to: [],
  due_days: 30,
};

/** The settings without which nobody can pay by invoice: who sells, and where the money goes. */
export const missingForInvoices = ({ seller, pay_to }: SalesTerms): string[] => [
  ...(seller.join() === '' || seller.join() === DEFAULT_TERMS.seller.join() ? ['INVOICE_FROM'] : []),
  ...(pay_to.length === 0 ? ['INVOICE_PAY_TO'] : []),
];

/** The lines of a text that are not blank, trimmed. */
export const linesOf = (text: string): string[] =>
  text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
