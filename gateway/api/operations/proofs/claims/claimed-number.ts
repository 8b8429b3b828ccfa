/**
 * A number as somebody wrote it, and how it agrees with a figure. Both are compared as decimal numbers, the figure by
 * the text under which it is served: binary arithmetic would make equal what is not.
 */

/** `digits` × 10^`exponent`. */
interface Decimal {
  digits: bigint;
  exponent: number;
}

export interface ClaimedNumber extends Decimal {
  /** The double nearest to it. */
  double: number;
  /**
   * Exponents of the place to which it may be rounded. They differ for integers that end in zeros, which may be
   * significant or not: 1300 is rounded to ones, tens or hundreds.
   */
  finest: number;
  coarsest: number;
  /** Written without an exponent: its last place is of the size that it has, whatever the figure. */
  isPlain: boolean;
}

/** What a claimed number may look like, in words. */
export const NUMBER_EXPECTED =
  'a decimal number such as -1234.5 or 1.2e6, without thousands separators, percent sign or unit';

const TEXT_MAX = 100;
const NUMBER = /^([-+−]?)(?:([0-9]+)(?:\.([0-9]+))?|\.([0-9]+))(?:[eE]([-+]?[0-9]{1,3}))?$/;
/** What it looks like, as the source of a regular expression without anchors. */
export const NUMBER_PATTERN = NUMBER.source.slice(1, -1);
const TRAILING_ZEROS = /0*$/;

/** Null for a text that is not a decimal number. */
export function readNumber(text: string): ClaimedNumber | null {
  const parts = text.length <= TEXT_MAX ? NUMBER.exec(text) : null;
  if (parts === null) return null;
  const [, sign, whole = '', fraction = parts[4] ?? '', , power] = parts;
  const written = whole + fraction;
  const isNegative = sign !== '' && sign !== '+';
  const finest = Number(power ?? 0) - fraction.length;
  const isZero = BigInt(written) === 0n;
  const zeros = fraction === '' && !isZero ? (TRAILING_ZEROS.exec(whole)?.[0].length ?? 0) : 0;
  return {
    digits: isNegative ? -BigInt(written) : BigInt(written),
    exponent: finest,
    double: Number(`${isNegative ? '-' : ''}${written}e${finest}`),
    finest,
    coarsest: finest + zeros,
    isPlain: power === undefined,
  };
}

/** The number times a power of ten, with the same digits. */
export const timesPowerOfTen = (claimed: ClaimedNumber, power: number): ClaimedNumber => ({
  ...claimed,
  exponent: claimed.exponent + power,
  double: power < 0 ? claimed.double / 10 ** -power : claimed.double * 10 ** power,
  finest: claimed.finest + power,
  coarsest: claimed.coarsest + power,
});

export type Fit = 'exact' | 'rounded' | 'close';

/** A claim is close within this part of the figure. */
const CLOSE_PARTS = 100n;

/**
 * - `exact`: the same number as the figure.
 * - `rounded`: the figure rounded to the digits written, halves in either direction; or more digits than a double holds.
 *   A zero has no digit of another figure.
 * - `close`: within 1 % of the figure.
 */
export function fitOf(claimed: ClaimedNumber, figure: number): Fit | null {
  const held = toDecimal(figure);
  const place = lastPlace(claimed, held);
  const lowest = Math.min(claimed.exponent, held.exponent, place);
  const size = magnitude(held.digits * scale(held.exponent - lowest));
  const distance = magnitude(
    claimed.digits * scale(claimed.exponent - lowest) - held.digits * scale(held.exponent - lowest),
  );
  if (distance === 0n) return 'exact';
  if (claimed.digits === 0n) return null;
  if (claimed.double === figure || 2n * distance <= scale(place - lowest)) return 'rounded';
  return CLOSE_PARTS * distance <= size ? 'close' : null;
}

const scale = (power: number): bigint => 10n ** BigInt(power);
const magnitude = (digits: bigint): bigint => (digits < 0n ? -digits : digits);

/** The figure as it is served: the shortest digits that read back as the same double. */
function toDecimal(figure: number): Decimal {
  const [mantissa = '', power = '0'] = String(figure).split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(power) - fraction.length };
}

/**
 * Exponent of the place to which the figure would be rounded to give the claim. Rounding leaves a digit at least, so
 * that 1000000 is 960,000 rounded, but not 600,000.
 */
function lastPlace({ finest, coarsest, isPlain }: ClaimedNumber, { digits, exponent }: Decimal): number {
  const leading = digits === 0n ? finest : String(magnitude(digits)).length - 1 + exponent;
  const coarse = Math.min(coarsest, leading);
  return isPlain ? Math.max(finest, coarse) : coarse;
}
