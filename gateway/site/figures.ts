/** Figures, years and dates as people read them. The exact value stands beside each figure, for machines. */
import { escapedXml } from '../api/encoders/encoders.ts';
import { type Html, html, TEMPLATE_FILTERS } from '../web/templates.ts';

const SIGNIFICANT_DIGITS = 4;
const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const significant = new Intl.NumberFormat('en', { maximumSignificantDigits: SIGNIFICANT_DIGITS });
const scientific = new Intl.NumberFormat('en', {
  notation: 'scientific',
  maximumSignificantDigits: SIGNIFICANT_DIGITS,
});
/** Above it nobody counts in trillions. */
const GREATEST_NAMED = 1e20;
/** Smaller figures have more digits than a column has room for. */
const SMALLEST_PLAIN = 1e-4;
const BIG = [
  [1e12, 'trillion'],
  [1e9, 'billion'],
  [1e6, 'million'],
] as const;

/**
 * `1.798E308`, `34.05 million`, `12,345`, `0.0321`; an en dash where there is none.
 * @param decimals digits after the point that a figure between -1,000 and 1,000 has at least
 */
export function figureText(value: number | null, decimals = 0): string {
  if (value === null) return '–';
  const size = Math.abs(value);
  if (size >= GREATEST_NAMED) return scientific.format(value);
  const rounded = Number(value.toPrecision(SIGNIFICANT_DIGITS));
  const [unit, name] = BIG.find(([least]) => size >= least) ?? [];
  const inUnits = rounded / (unit ?? 1);
  // Below 1,000 both give the same digits, and String takes a fraction of the time.
  if (unit !== undefined)
    return `${Math.abs(inUnits) < 1_000 ? inUnits : significant.format(inUnits)} ${name}`;
  if (size >= 1_000) return grouped.format(value);
  if (size < SMALLEST_PLAIN && !Object.is(value, 0)) return significant.format(value);
  const plain = String(rounded);
  return decimalsOf(plain) < decimals ? rounded.toFixed(decimals) : plain;
}

function decimalsOf(plain: string): number {
  const point = plain.indexOf('.');
  return point < 0 ? 0 : plain.length - point - 1;
}

/**
 * Digits after the point that all figures of a column share, so that their points stand below each other: as many as the
 * largest needs. None where the largest has none.
 */
export function columnDecimals(values: readonly (number | null)[]): number {
  const held = values.filter((value) => value !== null);
  const largest = Math.max(0, ...held.map(Math.abs));
  if (largest >= 1_000 || largest < SMALLEST_PLAIN) return 0;
  const room = SIGNIFICANT_DIGITS - Math.max(0, Math.floor(Math.log10(largest)) + 1);
  return Math.min(room, Math.max(...held.map((value) => decimalsOf(figureText(value)))));
}

/** The text in an element that holds the exact value. */
export const figureHtml = (value: number | null, decimals = 0): string =>
  value === null
    ? '–'
    : `<data value="${Object.is(value, -0) ? '-0' : value}">${figureText(value, decimals)}</data>`;

/** The same for templates; the text alone of a figure from which those of other years could be computed exactly. */
export const figureElement = (value: number | null, decimals = 0, isExact = true): Html =>
  html(isExact ? figureHtml(value, decimals) : figureText(value, decimals));

interface Cell {
  value: number;
  projected: boolean;
}

/** The cells of a row of a table by year, which has hundreds of rows. @param exact for each cell, as `figureElement` takes it */
export const figureCells = (
  cells: readonly (Cell | null)[],
  decimals: number,
  exact: readonly boolean[],
): Html =>
  html(
    cells
      .map((cell, at) => {
        const text = (exact[at] ? figureHtml : figureText)(cell?.value ?? null, decimals);
        return `<td>${text}${cell?.projected ? ' <span class="faint">projected</span>' : ''}</td>`;
      })
      .join(''),
  );

interface Ranking {
  rows: readonly {
    country: { iso3: string; name: string };
    rank: number | null;
    value: number | null;
    rankDelta: number | null;
    ciLo: number | null;
    ciHi: number | null;
    marks: readonly string[];
  }[];
  hasRanks: boolean;
  hasChanges: boolean;
  hasBounds: boolean;
  decimals: number;
}

/** The rows of a ranking, of which a page has hundreds. @param isExact as `figureElement` takes it */
export function rankingRows(
  { rows, hasRanks, hasChanges, hasBounds, decimals }: Ranking,
  isExact: boolean,
): Html {
  const textOf = isExact ? figureHtml : figureText;
  const cell = (value: number | null): string => textOf(value, decimals);
  const lines = rows.map(({ country: { iso3, name }, rank, value, rankDelta, ciLo, ciHi, marks }) => {
    const tags = marks.map((mark) => ` <span class="tag">${escapedXml(mark)}</span>`).join('');
    return [
      hasRanks ? `<tr><td>${rank ?? '–'}</td>` : '<tr>',
      `<th scope="row"><a href="/countries/${iso3}">${escapedXml(name)}</a>${tags}</th><td>${cell(value)}</td>`,
      hasChanges ? `<td>${rankDelta === null ? '–' : TEMPLATE_FILTERS.signed(rankDelta)}</td>` : '',
      hasBounds ? `<td>${cell(ciLo)} to ${cell(ciHi)}</td></tr>` : '</tr>',
    ].join('');
  });
  return html(lines.join('\n'));
}

/** The options of a choice of years, of which a page has hundreds. */
export const yearOptions = (years: readonly number[], chosen: number | undefined): Html =>
  html(years.map((year) => `<option${year === chosen ? ' selected' : ''}>${year}</option>`).join(''));

/** Whether a name says its unit, as many do, so that a page need not repeat it. */
export const isSaidBy = (unit: string, name: string): boolean =>
  ` ${wordsIn(name)} `.includes(` ${wordsIn(unit)} `) ||
  (/^(percent|%)/.test(unit) && /%|\bpercent/i.test(name));

/** Lower-case, without marks between them. */
const wordsIn = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}%$€]+/gu, ' ')
    .trim();

/** `Life expectancy (years)` */
export const nameWithUnit = (name: string, unit: string | null): string =>
  unit === null || isSaidBy(unit, name) ? name : `${name} (${unit})`;

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
