/**
 * Value-added tax. The price of a pack is what everybody pays; these rules say whether VAT is contained in it:
 *
 *   the seller's rate is 0                                    no VAT
 *   customer in the seller's country, or country not known    the seller's rate
 *   seller and customer in different countries of the EU      with a VAT id reverse charge, without one the seller's rate
 *   any other pair of countries                               no VAT; the place of supply is the customer's country
 *
 * Not covered: rates of other member states (One-Stop Shop), special territories, and asking VIES whether a VAT id is in use.
 */

export const VAT_TREATMENTS = ['charged', 'reverse_charge', 'outside', 'none'] as const;
type VatTreatment = (typeof VAT_TREATMENTS)[number];

export interface VatTerms {
  /** ISO 3166 code of the seller's country, two letters; empty where it is not stated. */
  country: string;
  /** In hundredths of a percent: 1900 for 19 %. */
  vat_rate_bp: number;
}

export type VatAmounts = ReturnType<typeof vatAmounts>;

const WHOLE_BP = 10_000;

/** How VAT ids look, by member state (as VIES lists them), after the prefix. */
const VAT_IDS: Readonly<Record<string, RegExp>> = {
  AT: /^U\d{8}$/,
  BE: /^[01]\d{9}$/,
  BG: /^\d{9,10}$/,
  CY: /^\d{8}[A-Z]$/,
  CZ: /^\d{8,10}$/,
  DE: /^\d{9}$/,
  DK: /^\d{8}$/,
  EE: /^\d{9}$/,
  ES: /^[A-Z\d]\d{7}[A-Z\d]$/,
  FI: /^\d{8}$/,
  FR: /^[A-Z\d]{2}\d{9}$/,
  GR: /^\d{9}$/,
  HR: /^\d{11}$/,
  HU: /^\d{8}$/,
  IE: /^(?:\d{7}[A-Z]{1,2}|\d[A-Z\d+*]\d{5}[A-Z])$/,
  IT: /^\d{11}$/,
  LT: /^(?:\d{9}|\d{12})$/,
  LU: /^\d{8}$/,
  LV: /^\d{11}$/,
  MT: /^\d{8}$/,
  NL: /^[A-Z\d+*]{12}$/,
  PL: /^\d{10}$/,
  PT: /^\d{9}$/,
  RO: /^\d{2,10}$/,
  SE: /^\d{12}$/,
  SI: /^\d{8}$/,
  SK: /^\d{10}$/,
};
/** VAT ids of countries outside the EU. */
const FOREIGN_VAT_ID = /^[A-Z\d]{2,20}$/;

/** ISO 3166 codes of the member states of the EU. */
export const EU_COUNTRIES: readonly string[] = Object.keys(VAT_IDS);

export const isInEu = (country: string): boolean => Object.hasOwn(VAT_IDS, country);

/** What VAT ids of a country begin with; Greece has its own prefix. */
export const vatPrefix = (country: string): string => (country === 'GR' ? 'EL' : country);

/** Without spaces, dots and hyphens, in capitals. */
export const compactVatId = (text: string): string => text.replaceAll(/[\s.-]/g, '').toUpperCase();

/** Whether a compact VAT id has the form of its country, the prefix included. */
export function isVatId(vat_id: string, country: string): boolean {
  const form = VAT_IDS[country];
  if (!form) return FOREIGN_VAT_ID.test(vat_id);
  const prefix = vatPrefix(country);
  return vat_id.startsWith(prefix) && form.test(vat_id.slice(prefix.length));
}

/** @param customer null where no billing details are known */
export function vatTreatment(
  { country, vat_rate_bp }: VatTerms,
  customer: { country: string; vat_id: string } | null,
): VatTreatment {
  if (vat_rate_bp === 0) return 'none';
  if (customer === null || customer.country === country) return 'charged';
  if (!isInEu(country) || !isInEu(customer.country)) return 'outside';
  return customer.vat_id === '' ? 'charged' : 'reverse_charge';
}

/** Splits a price, which contains the VAT, into net amount and VAT; whole minor units that add up to the price. */
export function vatAmounts(
  terms: VatTerms,
  customer: { country: string; vat_id: string } | null,
  gross_minor: number,
) {
  const vat = vatTreatment(terms, customer);
  const vat_rate_bp = vat === 'charged' ? terms.vat_rate_bp : 0;
  const net_minor = Math.round((gross_minor * WHOLE_BP) / (WHOLE_BP + vat_rate_bp));
  return { vat, vat_rate_bp, gross_minor, net_minor, vat_minor: gross_minor - net_minor };
}
