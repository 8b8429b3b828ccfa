/**
 * Judges a claimed number against the figures that are held: the verdict, and what else the number agrees with.
 * Verdicts are in the order in which they are decided; reasons in the order in which they are listed, as chance agrees
 * with one scale or twin less often than with one of many years or countries.
 *
 * Number and figure are compared as decimal numbers, the figure by the text under which it is served: binary arithmetic
 * would make equal what is not.
 */
import { type ClaimedNumber, type Decimal, inUnit, timesPowerOfTen } from './claimed-number.ts';

export const VERDICTS = [
  'unreadable',
  'unknown',
  'no_data',
  'exact',
  'rounded',
  'superseded',
  'redefined',
  'close',
  'mismatch',
] as const;
export type Verdict = (typeof VERDICTS)[number];

/** A figure that editions up to `edition` had, and `superseded_by` no longer has. */
export interface EarlierFigure {
  value: number;
  unit: string | null;
  edition: string;
  superseded_by: string;
}

export interface Judgement {
  verdict: Exclude<Verdict, 'unreadable' | 'unknown'>;
  /** The newest earlier figure that the claim agrees with, where it agrees with none of today. */
  earlier: EarlierFigure | null;
}

/** @param value of today; null where there is none. @param earlier newest first. @param unit of today. */
export function judge(
  claimed: ClaimedNumber,
  value: number | null,
  earlier: readonly EarlierFigure[],
  unit: string | null,
): Judgement {
  const fit = value === null ? null : fitOf(inUnit(claimed, unit), value);
  if (isRight(fit)) return { verdict: fit, earlier: null };
  const was = earlier.find((one) => isRight(fitOf(inUnit(claimed, one.unit), one.value))) ?? null;
  if (value === null) return { verdict: 'no_data', earlier: was };
  if (was === null) return { verdict: fit ?? 'mismatch', earlier: null };
  return { verdict: was.unit === unit ? 'superseded' : 'redefined', earlier: was };
}

const isRight = (fit: Fit | null): fit is 'exact' | 'rounded' => fit === 'exact' || fit === 'rounded';

export const REASONS = ['scale', 'other_provider', 'wrong_year', 'wrong_country'] as const;

/** A figure of a series, in the unit of that series. */
export interface Figure {
  indicator: string;
  iso3: string;
  year: number;
  value: number;
}

/** The claim, times `factor`, agrees with this figure. */
export interface Reason extends Figure {
  reason: (typeof REASONS)[number];
  factor: number;
  fit: 'exact' | 'rounded';
  /** How many figures of this reason it agrees with; the one told is exact if one is, then nearest in years. */
  matches: number;
}

export interface TwinFigure extends Figure {
  /** What a value of the twin is multiplied by to have the unit of the indicator. */
  factor: number;
}

/** Figures that the claim may have been mistaken for. */
export interface Candidates {
  /** The figure of today for the claim itself; null where there is none. */
  own: Figure | null;
  twins: readonly TwinFigure[];
  /** Figures of the same country, nearest year first. */
  otherYears: readonly Figure[];
  /** Figures of the same year. */
  otherCountries: readonly Figure[];
}

/** @param claimed in the unit of the indicator. @returns each reason at most once; those that agree exactly come first. */
export function diagnose(claimed: ClaimedNumber, candidates: Candidates): Reason[] {
  const found = {
    scale: candidates.own === null ? [] : scaleMatches(claimed, candidates.own),
    other_provider: candidates.twins.flatMap((twin) => twinMatches(claimed, twin)),
    wrong_year: candidates.otherYears.flatMap((figure) => matchOf(claimed, figure)),
    wrong_country: candidates.otherCountries.flatMap((figure) => matchOf(claimed, figure)),
  };
  const reasons = REASONS.flatMap((reason): Reason[] => {
    const best = found[reason].find(isExact) ?? found[reason][0];
    return best ? [{ reason, ...best, matches: found[reason].length }] : [];
  });
  return [...reasons.filter(isExact), ...reasons.filter((reason) => !isExact(reason))];
}

type Match = Figure & Pick<Reason, 'factor' | 'fit'>;

const isExact = ({ fit }: Pick<Reason, 'fit'>): boolean => fit === 'exact';

function matchOf(claimed: ClaimedNumber, figure: Figure, factor = 1): Match[] {
  const fit = fitOf(claimed, figure.value);
  return isRight(fit) ? [match(figure, factor, fit)] : [];
}

const match = ({ indicator, iso3, year, value }: Figure, factor: number, fit: Match['fit']): Match => ({
  indicator,
  iso3,
  year,
  value,
  factor,
  fit,
});

/** Powers of ten by which people are wrong: percent for fraction, thousands, millions, billions. */
const SCALES = [2, 3, 6, 9] as const;

/** A zero is a zero on every scale. */
function scaleMatches(claimed: ClaimedNumber, figure: Figure): Match[] {
  if (figure.value === 0) return [];
  return SCALES.flatMap((power) => [
    ...scaledMatch(claimed, figure, -power, figure.value * 10 ** power),
    ...scaledMatch(claimed, figure, power, figure.value / 10 ** power),
  ]);
}

/** @param power of ten that the claim is multiplied by. @param computed the figure on that scale in binary arithmetic. */
function scaledMatch(claimed: ClaimedNumber, figure: Figure, power: number, computed: number): Match[] {
  const factor = power < 0 ? 1 / 10 ** -power : 10 ** power;
  if (claimed.double === computed) return [match(figure, factor, 'exact')];
  return matchOf(timesPowerOfTen(claimed, power), figure, factor);
}

/** A twin's figure as it is, or in the unit of the indicator. */
function twinMatches(claimed: ClaimedNumber, { factor, ...figure }: TwinFigure): Match[] {
  const matches = matchOf(claimed, figure);
  if (matches.length > 0 || factor === 1) return matches;
  const power = -Math.log10(factor);
  const converted = figure.value * factor;
  if (Number.isInteger(power)) return scaledMatch(claimed, figure, power, converted);
  const [found] = matchOf(claimed, { ...figure, value: converted });
  return found ? [match(figure, 1 / factor, found.fit)] : [];
}

type Fit = 'exact' | 'rounded' | 'close';

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
