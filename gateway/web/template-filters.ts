/** Template filters for numbers, times (UTC), sizes, money and tables. */
import nunjucks from 'nunjucks';
import { DAY_MS, MINUTE_MS } from '../../data/schema/redis-keys.ts';
import { labelCells, tableColumns } from './tables.ts';

const HOUR_MS = 60 * MINUTE_MS;
const safe = (html: string): nunjucks.runtime.SafeString => new nunjucks.runtime.SafeString(html);

const integers = new Intl.NumberFormat('en');
/** Digits alone need no formatter, which is ten times slower. */
const integerText = (value: number): string =>
  Number.isInteger(value) && Math.abs(value) < 1_000 ? String(value) : integers.format(value);
const number = (value: number | null): string => (value === null ? '–' : integerText(value));

/** `+5` and `−5`: colour is never the only sign of direction. */
const signed = (value: number): string =>
  value > 0 ? `+${integerText(value)}` : value < 0 ? `−${integerText(-value)}` : '0';

/** `2026-11-21 12:00:20 UTC`; a dash for null and 0. */
export function formatMoment(ms: number | null): string {
  if (ms === null || !Number.isFinite(ms) || ms === 0) return '–';
  const iso = new Date(ms).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

/** The same as a `<time>` element. */
function moment(ms: number | null): nunjucks.runtime.SafeString | string {
  const text = formatMoment(ms);
  return ms === null || text === '–'
    ? text
    : safe(`<time datetime="${new Date(ms).toISOString()}">${text}</time>`);
}

/** `3 min`, `5 h`, `12 days`. */
function span(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < MINUTE_MS) return `${Math.max(0, Math.round(ms / 1000))} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  if (ms < 2 * DAY_MS) return `${Math.floor(ms / HOUR_MS)} h`;
  return `${Math.floor(ms / DAY_MS)} days`;
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

function bytes(size: number): string {
  let rest = size;
  let unit = 0;
  while (rest >= 1000 && unit < UNITS.length - 1) {
    rest /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? rest : rest.toFixed(1)} ${UNITS[unit] ?? ''}`;
}

/** `59.00 EUR` from an amount in minor units. */
const money = (minor: number, currency: string): string => `${(minor / 100).toFixed(2)} ${currency}`;

/** The changed fields of two flat records: `name: before → after`. */
export function difference(before: Record<string, unknown>, after: Record<string, unknown>): string {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const text = (value: unknown): string =>
    value === undefined || value === null || value === '' ? '–' : String(value);
  return names
    .filter((name) => before[name] !== after[name])
    .map((name) =>
      name in before
        ? `${name}: ${text(before[name])} → ${text(after[name])}`
        : `${name}: ${text(after[name])}`,
    )
    .join('; ');
}

export const TEMPLATE_FILTERS = {
  ...{ number, signed, moment, span, bytes, money, difference },
  ...{ tableColumns, labelCells },
} as const;
