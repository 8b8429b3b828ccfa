/** Figures, years and dates as people read them. The exact value stands beside each figure, for machines. */
import nunjucks from 'nunjucks';

const SIGNIFICANT_DIGITS = 4;
/** From here to a thousand, digits need no formatter, which is ten times slower. */
const PLAIN_FROM = 1e-4;
const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const significant = new Intl.NumberFormat('en', { maximumSignificantDigits: SIGNIFICANT_DIGITS });
const BIG = [
  [1e12, 'trillion'],
  [1e9, 'billion'],
  [1e6, 'million'],
] as const;

/** `34.05 million`, `12,345`, `0.0321`; an en dash where there is none. */
export function figureText(value: number | null): string {
  if (value === null) return '–';
  const size = Math.abs(value);
  const big = BIG.find(([unit]) => size >= unit);
  if (big) return `${significant.format(value / big[0])} ${big[1]}`;
  if (size >= 1_000) return grouped.format(value);
  return size < PLAIN_FROM
    ? significant.format(value)
    : String(Number(value.toPrecision(SIGNIFICANT_DIGITS)));
}

/** The text in an element that holds the exact value. */
export const figureHtml = (value: number | null): string =>
  value === null ? '–' : `<data value="${value}">${figureText(value)}</data>`;

/** The same for templates. */
export const figureElement = (value: number | null): nunjucks.runtime.SafeString =>
  new nunjucks.runtime.SafeString(figureHtml(value));

const percent = new Intl.NumberFormat('en', { style: 'percent', maximumSignificantDigits: 2 });

/** `1.2%` from 0.0123. */
export const shareText = (share: number): string => percent.format(share);

/** `1990–2023`, or one year. */
export const yearsText = (from: number | null, to: number | null): string => {
  if (from === null || to === null) return 'no years';
  return from === to ? String(from) : `${from}–${to}`;
};

const days = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

/** `23 November 2026` from an ISO time. */
export const dateText = (iso: string): string => days.format(new Date(iso));

/** `23 November 2026, 02:00 UTC` from an ISO time. */
export const momentText = (iso: string): string =>
  `${dateText(iso)}, ${new Date(iso).toISOString().slice(11, 16)} UTC`;
