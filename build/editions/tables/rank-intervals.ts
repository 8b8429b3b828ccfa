/**
 * Rank intervals: how many countries are certainly better or certainly worse than a country, given the confidence bounds
 * of all values of one series and year.
 *
 * The difference of every two countries is tested in both directions, and Holm's step-down procedure corrects for the
 * 2(m - 1) tests in which one of m countries takes part. So the interval of a country contains its true rank with at
 * least the declared level (Mogstad, Romano, Shaikh and Wilhelm, 2024, Inference for Ranks, doi:10.1093/restud/rdad006;
 * with Holm's critical values, which need no random numbers, in place of the bootstrap's).
 *
 * Margins, the distances from a value to its bounds, may differ by direction. The margin of a difference joins the two
 * that face each other (Zou and Donner, 2008, doi:10.1002/sim.3095). Errors are taken as independent between countries,
 * and as normal where margins are equal; see `marginAt` for others.
 */
import { compiled, ndtri } from 'cephes';

// Its WebAssembly.
await compiled;

/** A value with its margins. A higher score is better. */
export interface Estimate {
  score: number;
  /** Towards worse countries. */
  marginBelow: number;
  /** Towards better countries. */
  marginAbove: number;
}

/** How many countries are certainly better and certainly worse. */
export interface Standing {
  better: number;
  worse: number;
}

/** Normal quantiles that a test needs, as multiples of the one at the declared level. */
export class CriticalFactors {
  readonly #error: number;
  readonly #known: number[] = [];

  /** @param level above 0.5. */
  constructor(level: number) {
    this.#error = 1 - level;
  }

  /** The factor while so many one-sided hypotheses remain. For two it is 1: the bounds as declared. */
  at(hypotheses: number): number {
    const known = this.#known[hypotheses];
    if (known !== undefined) return known;
    const factor = ndtri(this.#error / hypotheses) / ndtri(this.#error / 2);
    this.#known[hypotheses] = factor;
    return factor;
  }
}

/** Limits the skew where a bound is at the value, as of a count of 0. */
const SKEW_LIMIT = 10;

/**
 * A margin at a factor of the declared quantile. The longer of two unequal margins grows as that of a log-normal
 * distribution through value and bounds, the shorter in proportion, which is the more cautious choice for each.
 */
function marginAt(margin: number, opposite: number, factor: number): number {
  if (margin <= opposite) return margin * factor;
  const skew = Math.min(margin / opposite, SKEW_LIMIT);
  return (margin * Math.expm1(factor * Math.log(skew))) / (skew - 1);
}

const estimateAt = ({ score, marginBelow, marginAbove }: Estimate, factor: number): Estimate => ({
  score,
  marginBelow: marginAt(marginBelow, marginAbove, factor),
  marginAbove: marginAt(marginAbove, marginBelow, factor),
});

/** Decimal figures are rounded to binary ones: a difference this near to its margin, in proportion, equals it. */
const TOLERANCE = 1e-9;

/** Squares beyond these are not exact, or no numbers. */
const LEAST_SQUARE = 1e-290;
/** Powers of two, by which figures are multiplied without loss. */
const LARGER = 2 ** 600;
const SMALLER = 2 ** -2;

/** Whether an estimate is certainly above another, at the level of their margins. */
function isAbove(upper: Estimate, lower: Estimate): boolean {
  if (upper.score <= lower.score) return false;
  const square = ((upper.score - lower.score) * (1 + TOLERANCE)) ** 2;
  if (square > LEAST_SQUARE && square < Number.POSITIVE_INFINITY)
    return square >= upper.marginBelow ** 2 + lower.marginAbove ** 2;
  const scale = square > LEAST_SQUARE ? SMALLER : LARGER;
  const difference = upper.score * scale - lower.score * scale;
  return difference * (1 + TOLERANCE) >= Math.hypot(upper.marginBelow * scale, lower.marginAbove * scale);
}

/** A pair that only a later step of Holm's procedure may decide. */
interface ClosePair {
  upper: Estimate;
  lower: Estimate;
  side: keyof Standing;
}

/**
 * Compares all countries of one series and year.
 * @param estimates best first.
 */
export function compareCountries(estimates: readonly Estimate[], factors: CriticalFactors): Standing[] {
  if (estimates.length < 2) return estimates.map(() => ({ better: 0, worse: 0 }));
  const hypotheses = 2 * (estimates.length - 1);
  // The factors fall from step to step. What is certain at the first stays so. What is not certain at the last never is:
  // of the two tests of a pair only one can be decided, so half of all tests remain.
  const [first, last] = [factors.at(hypotheses), factors.at(estimates.length)];
  const countries = estimates.map((estimate) => ({
    estimate,
    atFirst: estimateAt(estimate, first),
    atLast: estimateAt(estimate, last),
    standing: { better: 0, worse: 0 },
    close: [] as ClosePair[],
  }));
  countries.forEach((upper, index) => {
    for (const lower of countries.slice(index + 1)) {
      if (isAbove(upper.atFirst, lower.atFirst)) {
        upper.standing.worse += 1;
        lower.standing.better += 1;
      } else if (isAbove(upper.atLast, lower.atLast)) {
        const pair = { upper: upper.estimate, lower: lower.estimate };
        upper.close.push({ ...pair, side: 'worse' });
        lower.close.push({ ...pair, side: 'better' });
      }
    }
  });
  return countries.map(({ standing, close }) => stepDown(standing, close, hypotheses, factors));
}

/** The later steps for one country: each tests at the hypotheses that the one before has left. */
function stepDown(
  certain: Standing,
  close: readonly ClosePair[],
  hypotheses: number,
  factors: CriticalFactors,
): Standing {
  let standing = certain;
  for (;;) {
    const factor = factors.at(hypotheses - standing.better - standing.worse);
    const next = { ...certain };
    for (const { upper, lower, side } of close) {
      if (isAbove(estimateAt(upper, factor), estimateAt(lower, factor))) next[side] += 1;
    }
    if (next.better + next.worse === standing.better + standing.worse) return standing;
    standing = next;
  }
}
