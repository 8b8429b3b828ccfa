/**
 * Parses years and numbers strictly: anything else is rejected, never repaired. A text becomes the nearest IEEE 754
 * double.
 */

/** Not a number. */
export const BAD = Symbol('bad');

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const WHOLE = /^-?\d{1,5}$/;
/** Palaeoclimate series go back this far. */
const FIRST_YEAR = -20_000;
const LAST_YEAR = 3_000;

/** Returns a finite double (0 for -0), null for a gap (null or an empty text), or `BAD`. */
export function readFigure(raw: number | string | null | undefined): number | null | typeof BAD {
  if (raw === null || raw === undefined) return null;
  if (typeof raw === 'number') return Number.isFinite(raw) ? raw + 0 : BAD;
  const text = raw.trim();
  if (text === '') return null;
  if (!DECIMAL.test(text)) return BAD;
  const value = Number(text);
  return Number.isFinite(value) ? value + 0 : BAD;
}

/** Returns a calendar year, or `BAD` for ranges, months and fractions. */
export function readYear(raw: number | string): number | typeof BAD {
  const text = typeof raw === 'string' ? raw.trim() : raw;
  if (typeof text === 'string' && !WHOLE.test(text)) return BAD;
  const year = Number(text);
  return Number.isInteger(year) && year >= FIRST_YEAR && year <= LAST_YEAR ? year : BAD;
}
