/** What an invoice says, in words: the print page and the PDF show the same. */
import type { InvoiceDocument } from './document.ts';
import { isInEu, type VatAmounts, type VatTerms } from './vat.ts';

export interface InvoiceText {
  title: string;
  /** The first line is the name. */
  seller: string[];
  buyer: string[];
  facts: [label: string, value: string][];
  item: string;
  /** Rows under the item; the last one is the total. */
  amounts: [label: string, amount: string][];
  notes: string[];
}

/** `59.00 EUR` from an amount in minor units; `−59.00 EUR` for a negative one. */
const moneyText = (minor: number, currency: string): string =>
  `${minor < 0 ? '−' : ''}${(Math.abs(minor) / 100).toFixed(2)} ${currency}`;

/** `19 %` from hundredths of a percent. */
export const rateText = (basisPoints: number): string => `${basisPoints / 100} %`;

/** What a customer reads beside a price. */
export function vatSentence({ vat, vat_rate_bp }: VatAmounts): string {
  return {
    charged: `VAT of ${rateText(vat_rate_bp)} is included.`,
    reverse_charge: 'Without VAT: reverse charge.',
    outside: 'Without VAT: the customer is in another country.',
    none: 'No VAT is charged.',
  }[vat];
}

/** What everybody reads beside the packs. */
export function pricesSentence(terms: VatTerms): string {
  if (terms.vat_rate_bp === 0) return 'Prices are what you pay; no VAT is charged.';
  const rate = rateText(terms.vat_rate_bp);
  return isInEu(terms.country)
    ? `Prices are what you pay and include ${rate} VAT. Customers outside the European Union, and businesses in other countries of it that give a VAT id, pay the same, without VAT.`
    : `Prices are what you pay and include ${rate} VAT. Customers in other countries pay the same, without VAT.`;
}

export const dateText = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

export function invoiceText(document: InvoiceDocument): InvoiceText {
  const { kind, seller, buyer, pack_name, credits } = document;
  return {
    title: kind === 'invoice' ? 'Invoice' : 'Credit note',
    seller: [...seller.lines, ...(seller.vat_id === '' ? [] : [`VAT id ${seller.vat_id}`])],
    buyer: [...buyer.lines, buyer.email, ...(buyer.vat_id === '' ? [] : [`VAT id ${buyer.vat_id}`])],
    facts: listFacts(document),
    item: `${pack_name}: ${credits.toLocaleString('en')} credits`,
    amounts: listAmounts(document),
    notes: listNotes(document),
  };
}

function listFacts(document: InvoiceDocument): [string, string][] {
  const { number, issued_at_ms, corrects, due_at_ms, order_id, payment } = document;
  return [
    ['Number', number],
    ['Date', dateText(issued_at_ms)],
    ...(corrects === null ? [] : [['Takes back invoice', corrects] as [string, string]]),
    ['Order', order_id],
    ['Payment', payment === 'stripe' ? 'card' : 'bank transfer'],
    ...(due_at_ms === null ? [] : [['Due', dateText(due_at_ms)] as [string, string]]),
  ];
}

function listAmounts({
  vat,
  vat_rate_bp,
  net_minor,
  vat_minor,
  gross_minor,
  currency,
}: InvoiceDocument): [string, string][] {
  const total: [string, string] = ['Total', moneyText(gross_minor, currency)];
  if (vat !== 'charged') return [total];
  return [
    ['Net', moneyText(net_minor, currency)],
    [`VAT ${rateText(vat_rate_bp)}`, moneyText(vat_minor, currency)],
    total,
  ];
}

const VAT_NOTES: Readonly<Record<InvoiceDocument['vat'], readonly string[]>> = {
  charged: [],
  reverse_charge: [
    'Reverse charge: VAT is due from the recipient (Articles 44 and 196 of Directive 2006/112/EC).',
  ],
  outside: ['No VAT is charged: the place of supply is the country of the customer.'],
  none: ['No VAT is charged.'],
};

function listNotes(document: InvoiceDocument): string[] {
  const { vat, kind, gross_minor, currency, due_at_ms, number, seller } = document;
  const notes = [...VAT_NOTES[vat]];
  if (kind === 'credit_note' || due_at_ms === null) return notes;
  const amount = moneyText(gross_minor, currency);
  const due = `${amount} by ${dateText(due_at_ms)} with the reference ${number}`;
  return seller.pay_to.length === 0
    ? [...notes, `Ask the seller for bank details before you pay: none are stated here. To be paid: ${due}.`]
    : [...notes, `Please transfer ${due}.`, ...seller.pay_to];
}
