/**
 * A number as somebody wrote it. Marks between digits are read by the first rule that fits (`FORMS`), so that each text
 * has one meaning, which is told beside the verdict.
 */

/** `digits` × 10^`exponent`. */
export interface Decimal {
  /** A whole number as text, which is JSON, too. */
  digits: string;
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
  /** Written without an exponent or a word for one: its last place is of the size that it has, whatever the figure. */
  isPlain: boolean;
  /** What stands behind the digits: `%`, or a word for a power of ten. */
  word: 'percent' | 'power' | null;
}

/** What a claimed number may look like, in words. */
export const NUMBER_EXPECTED =
  'one number such as -1234.5, 1.2e6, 1,300, "12,5", "8 %" or "33.8 million", without currency and unit';

const TEXT_MAX = 100;
const NUMBER =
  /^(?:(?:~|≈|about|around|approximately|approx\.|roughly)\s*)?([-+−–]?)\s*([\d.,'’_\s]+?)(?:e([-+−]?\d{1,3})|\s*([a-z%][a-z\s]*))?$/i;

/** The first that fits: a comma before three digits groups thousands, and any other single comma is the decimal mark. */
const FORMS = [
  /^(\d+|[1-9]\d{0,2}(?:([,\s'’_])\d{3})(?:\2\d{3})*|[1-9]\d?(?:,\d{2})+,\d{3}|)(?:\.(\d+))?$/,
  /^(\d+|[1-9]\d{0,2}(?:([.\s'’_])\d{3})(?:\2\d{3})*|)(?:,(\d+))?$/,
];

const PERCENT = /^(?:%|percent|per cent|pct|percentage points?)$/;
/** Words for powers of ten, in numbers and at the start of units. */
const POWERS: readonly (readonly [RegExp, number])[] = [
  [/^(?:k|thousands?)$/, 3],
  [/^lakhs?$/, 5],
  [/^(?:m|mn|mln|millions?)$/, 6],
  [/^crores?$/, 7],
  [/^(?:b|bn|billions?)$/, 9],
  [/^(?:tn|trillions?)$/, 12],
];
const BLANKS = /\s+/g;
const NOT_DIGITS = /\D/g;
const LEADING_ZEROS = /^-?0*/;
const TRAILING_ZEROS = /0*$/;

/** Null for a text that is not one number. */
export function readNumber(text: string): ClaimedNumber | null {
  const parts = text.length <= TEXT_MAX ? NUMBER.exec(text.trim()) : null;
  if (parts === null) return null;
  const [, sign = '', numeral = '', exponent, written = ''] = parts;
  const places = placesIn(numeral);
  const meaning = meaningOf(written.toLowerCase().replaceAll(BLANKS, ' '));
  if (places === null || meaning === null) return null;
  const { whole, fraction } = places;
  const { word } = meaning;
  const power = exponent === undefined ? meaning.power : Number(exponent.replace('−', '-'));
  const value = BigInt(whole + fraction);
  const finest = power - fraction.length;
  const zeros = fraction === '' && value !== 0n ? (TRAILING_ZEROS.exec(whole)?.[0].length ?? 0) : 0;
  const digits = String(sign === '' || sign === '+' ? value : -value);
  return {
    digits,
    exponent: finest,
    double: toDouble(digits, finest),
    finest,
    coarsest: finest + zeros,
    isPlain: exponent === undefined && word !== 'power',
    word,
  };
}

function placesIn(numeral: string): { whole: string; fraction: string } | null {
  for (const form of numeral === '' ? [] : FORMS) {
    const found = form.exec(numeral);
    if (found) return { whole: (found[1] ?? '').replaceAll(NOT_DIGITS, ''), fraction: found[3] ?? '' };
  }
  return null;
}

/** Null for a word that is not known. */
function meaningOf(written: string): (Pick<ClaimedNumber, 'word'> & { power: number }) | null {
  if (written === '') return { word: null, power: 0 };
  if (PERCENT.test(written)) return { word: 'percent', power: 0 };
  const power = powerOf(written);
  return power === 0 ? null : { word: 'power', power };
}

/** Zero for a word that stands for no power of ten. */
const powerOf = (word: string): number => POWERS.find(([words]) => words.test(word))?.[1] ?? 0;

const toDouble = (digits: string, exponent: number): number => Number(`${digits}e${exponent}`);

/** The number times a power of ten, with the same digits. */
export const timesPowerOfTen = (claimed: ClaimedNumber, power: number): ClaimedNumber => ({
  ...claimed,
  exponent: claimed.exponent + power,
  double: toDouble(claimed.digits, claimed.exponent + power),
  finest: claimed.finest + power,
  coarsest: claimed.coarsest + power,
});

const IN_HUNDREDTHS = /%|per ?cent|\bper 100\b(?!,)/;
const FIRST_WORD = /^[a-z]+/;

/**
 * The number in a unit: 8 % are 8 where figures are in per cent or per 100, and 0.08 elsewhere; 33.8 million are 33.8 in
 * millions of people. Written without such a word, it is in the unit already.
 */
export function inUnit(claimed: ClaimedNumber, unit: string | null): ClaimedNumber {
  const text = unit?.toLowerCase() ?? '';
  if (claimed.word === null) return claimed;
  if (claimed.word === 'power') return timesPowerOfTen(claimed, -powerOf(FIRST_WORD.exec(text)?.[0] ?? ''));
  return IN_HUNDREDTHS.test(text) ? claimed : timesPowerOfTen(claimed, -2);
}

/** How many digits are claimed at least: zeros at the end of an integer may be rounded. */
export const digitsClaimed = ({ digits, coarsest, finest }: ClaimedNumber): number =>
  Math.max(1, digits.replace(LEADING_ZEROS, '').length - (coarsest - finest));
