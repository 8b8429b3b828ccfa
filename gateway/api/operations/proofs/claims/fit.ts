/**
 * How a claimed number agrees with a figure. Both are compared as decimal numbers, the figure by the text under which it
 * is served: binary arithmetic would make equal what is not.
 */
import type { ClaimedNumber, Decimal } from './claimed-number.ts';

export type Fit = 'exact' | 'rounded' | 'close';

/** A claim is close within this part of the figure. */
const CLOSE_PARTS = 100n;
/** A rounding is off by no more than this part of the figure. Only one to a single digit can be. */
const ROUNDED_PARTS = 10n;

/**
 * - `exact`: the same number as the figure.
 * - `rounded`: the figure rounded to the digits written, halves in either direction; or more digits than a double holds.
 *   A zero has no digit of another figure.
 * - `close`: within 1 % of the figure, or rounded to a digit that is more than 10 % off.
 */
export function fitOf(claimed: ClaimedNumber, figure: number): Fit | null {
  const held = toDecimal(figure);
  const place = lastPlace(claimed, held);
  const lowest = Math.min(claimed.exponent, held.exponent, place);
  const inUnits = ({ digits, exponent }: Decimal): bigint => BigInt(digits) * scale(exponent - lowest);
  const [number, exact] = [inUnits(claimed), inUnits(held)];
  const [size, distance] = [magnitude(exact), magnitude(number - exact)];
  if (distance === 0n) return 'exact';
  if (number === 0n) return null;
  const isRounding = claimed.double === figure || 2n * distance <= scale(place - lowest);
  if (isRounding) return ROUNDED_PARTS * distance <= size ? 'rounded' : 'close';
  return CLOSE_PARTS * distance <= size ? 'close' : null;
}

const scale = (power: number): bigint => 10n ** BigInt(power);
const magnitude = (digits: bigint): bigint => (digits < 0n ? -digits : digits);

/** The figure as it is served: the shortest digits that read back as the same double. */
function toDecimal(figure: number): Decimal {
  const [mantissa = '', power = '0'] = String(figure).split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return { digits: String(BigInt(whole + fraction)), exponent: Number(power) - fraction.length };
}

/**
 * Exponent of the place to which the figure would be rounded to give the claim. Rounding leaves a digit at least, so
 * that 1000000 is 960,000 rounded, but not 600,000.
 */
function lastPlace({ finest, coarsest, isPlain }: ClaimedNumber, { digits, exponent }: Decimal): number {
  const leading = digits === '0' ? finest : digits.replace('-', '').length - 1 + exponent;
  const coarse = Math.min(coarsest, leading);
  return isPlain ? Math.max(finest, coarse) : coarse;
}

const DEVIATION_DIGITS = 4;

/** By how much the number is above the figure, in per cent of the figure; null where that is no finite number. */
export function deviationOf({ double }: ClaimedNumber, figure: number): number | null {
  if (double === figure) return 0;
  const percent = 100 * ((double - figure) / Math.abs(figure));
  return Number.isFinite(percent) ? Number(percent.toPrecision(DEVIATION_DIGITS)) : null;
}
