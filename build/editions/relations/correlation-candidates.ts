/**
 * Candidates for rank correlation among many indicators, without comparing every pair exactly.
 *
 * Method: a sketch per indicator holds, for 1,024 random pairs of countries, which country has the larger value. The
 * share of pairs on which two sketches agree estimates Kendall's τ, which goes with Spearman's ρ. The first 256 pairs
 * rule out most pairs of indicators at a tenth of the cost of an exact ρ; the others are compared over the whole
 * sketch, and each indicator keeps its `keep` strongest candidates. Exact work then grows linearly.
 *
 * The generator is seeded, so equal input gives equal output.
 */
import { countBits } from './spearman.ts';

const WORDS = 32;
const PAIRS = WORDS * 32;
/** Words of the first comparison. */
const COARSE_WORDS = 8;
/** |ρ| ≥ 0.7 is about |τ| ≥ 0.5. The first comparison allows for two standard errors. */
const MIN_TAU = 0.5;
const STANDARD_ERRORS = 2;
/** Pseudo-count of undecided pairs: lowers scores that rest on few pairs. */
const UNDECIDED_PRIOR = 6;

/** A linear congruential generator: reproducible on every machine. */
function createRandom(): (bound: number) => number {
  let state = 0x2545f491;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

/** Draws pairs of different countries, weighted by how many indicators have a value for them. */
function drawPairs(values: readonly Float64Array[], countries: number): Uint16Array {
  const pairs: number[] = [];
  const random = createRandom();
  const sums = new Float64Array(countries + 1);
  for (let country = 0; country < countries; country += 1) {
    const count = values.reduce((sum, column) => sum + (Number.isNaN(column[country]) ? 0 : 1), 0);
    sums[country + 1] = (sums[country] ?? 0) + count;
  }
  const total = sums[countries] ?? 0;
  const draw = (): number => {
    const at = random(total);
    return sums.findIndex((sum, index) => index > 0 && at < sum) - 1;
  };
  while (pairs.length < 2 * PAIRS) {
    const [first, second] = [draw(), draw()];
    if (first !== second) pairs.push(first, second);
  }
  return Uint16Array.from(pairs);
}

/**
 * Sketches all indicators: `2 * WORDS` words each. The first of two neighbouring words has a bit per pair whose first
 * country has the larger value, the second a bit per pair that has two different values.
 */
function sketchAll(values: readonly Float64Array[], pairs: Uint16Array): Int32Array {
  const sketches = new Int32Array(values.length * 2 * WORDS);
  values.forEach((column, indicator) => {
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const first = column[pairs[2 * pair] ?? 0] ?? Number.NaN;
      const second = column[pairs[2 * pair + 1] ?? 0] ?? Number.NaN;
      const word = 2 * (indicator * WORDS + (pair >> 5));
      const bit = 1 << (pair & 31);
      if (first > second) sketches[word] = (sketches[word] ?? 0) | bit;
      if (first > second || first < second) sketches[word + 1] = (sketches[word + 1] ?? 0) | bit;
    }
  });
  return sketches;
}

/** Compares the first `words` words of two sketches. Returns `common * 2 ** 16 + opposed`, both numbers of pairs. */
function compareSketches(sketches: Int32Array, a: number, b: number, words: number): number {
  let common = 0;
  let opposed = 0;
  let inA = a * 2 * WORDS;
  let inB = b * 2 * WORDS;
  for (const end = inA + 2 * words; inA < end; inA += 2, inB += 2) {
    const both = (sketches[inA + 1] ?? 0) & (sketches[inB + 1] ?? 0);
    common += countBits(both);
    opposed += countBits(((sketches[inA] ?? 0) ^ (sketches[inB] ?? 0)) & both);
  }
  return (common << 16) | opposed;
}

/** Keeps the strongest candidates of one indicator. */
class TopCandidates {
  readonly #keep: number;
  #found: { index: number; score: number }[] = [];
  /** Scores at or below it are ignored. */
  #threshold = 0;

  constructor(keep: number) {
    this.#keep = keep;
  }

  offer(index: number, score: number): void {
    if (score <= this.#threshold) return;
    this.#found.push({ index, score });
    if (this.#found.length < 4 * this.#keep) return;
    this.#cut();
    this.#threshold = this.#found.at(-1)?.score ?? 0;
  }

  indexes(): number[] {
    this.#cut();
    return this.#found.map(({ index }) => index);
  }

  /** Drops the weaker ones; the first of equals wins. */
  #cut(): void {
    this.#found.sort((a, b) => b.score - a.score);
    this.#found.length = Math.min(this.#found.length, this.#keep);
  }
}

/**
 * Returns for each indicator up to `keep` others with the likely strongest rank correlation, of either sign.
 * @param values by indicator and country number; NaN where missing.
 */
export function correlationCandidates(values: readonly Float64Array[], keep: number): number[][] {
  const countries = values[0]?.length ?? 0;
  const hasPairs = values.some((column) => column.filter((value) => !Number.isNaN(value)).length > 1);
  if (!hasPairs) return values.map(() => []);
  const sketches = sketchAll(values, drawPairs(values, countries));
  const lists = values.map(() => new TopCandidates(keep));
  for (const [a, own] of lists.entries()) {
    for (let b = a + 1; b < lists.length; b += 1) {
      const coarse = compareSketches(sketches, a, b, COARSE_WORDS);
      const size = coarse >>> 16;
      // The standard error of agreeing − disagreeing over n pairs is about √n.
      const minimum = MIN_TAU * size - STANDARD_ERRORS * Math.sqrt(size);
      if (Math.abs(size - 2 * (coarse & 0xffff)) < minimum) continue;
      const full = compareSketches(sketches, a, b, WORDS);
      const common = full >>> 16;
      const score = Math.abs(common - 2 * (full & 0xffff)) / (common + UNDECIDED_PRIOR);
      own.offer(b, score);
      lists[b]?.offer(a, score);
    }
  }
  return lists.map((list) => list.indexes());
}
