/**
 * Years and numbers as upstreams write them, read strictly: what is not plainly a year or a number is refused and
 * counted, never repaired. A text becomes exactly the double that JavaScript (IEEE 754, nearest) reads from it.
 */

/** A text that was expected to be a number and is none. */
export const BAD = Symbol('bad');

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const WHOLE = /^-?\d{1,5}$/;
/** Reconstructions of the distant past go back so far; nothing sensible lies beyond the other end. */
const FIRST_YEAR = -20_000;
const LAST_YEAR = 3_000;

/** A finite double; null for a published gap (null, an empty text); `BAD` for everything else. */
export function readFigure(raw: number | string | null | undefined): number | null | typeof BAD {
  if (raw === null || raw === undefined) return null;
  if (typeof raw === 'number') return Number.isFinite(raw) ? raw : BAD;
  const text = raw.trim();
  if (text === '') return null;
  if (!DECIMAL.test(text)) return BAD;
  const value = Number(text);
  return Number.isFinite(value) ? value : BAD;
}

/** A calendar year, or `BAD`: ranges, months and fractions are not years. */
export function readYear(raw: number | string): number | typeof BAD {
  const text = typeof raw === 'string' ? raw.trim() : raw;
  if (typeof text === 'string' && !WHOLE.test(text)) return BAD;
  const year = Number(text);
  return Number.isInteger(year) && year >= FIRST_YEAR && year <= LAST_YEAR ? year : BAD;
}
