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
const WORDS = 32;
const PAIRS = WORDS * 32;
/** Words of the first comparison. */
const COARSE_WORDS = 8;
/** |ρ| ≥ 0.7 is about |τ| ≥ 0.5. The first comparison allows for two standard errors. */
const MIN_TAU = 0.5;
const STANDARD_ERRORS = 2;
/** Pseudo-count of undecided pairs: lowers scores that rest on few pairs. */
const UNDECIDED_PRIOR = 6;

/** Number of set bits of a 32-bit word. */
function countBits(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return (((bits + (bits >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
}

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

export interface Candidate {
  /** Position among the indicators. */
  index: number;
  strength: number;
}

/** Keeps the strongest, so many, in their order; the first of equals wins. */
export function offer(list: Candidate[], candidate: Candidate, keep: number): void {
  const weakest = list[keep - 1];
  if (weakest && weakest.strength >= candidate.strength) return;
  const at = list.findLastIndex((one) => one.strength >= candidate.strength);
  list.splice(at + 1, 0, candidate);
  if (list.length > keep) list.pop();
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
  const lists = values.map((): Candidate[] => []);
  for (const [a, own] of lists.entries()) {
    for (let b = a + 1; b < lists.length; b += 1) {
      const coarse = compareSketches(sketches, a, b, COARSE_WORDS);
      const size = coarse >>> 16;
      // The standard error of agreeing − disagreeing over n pairs is about √n.
      const minimum = MIN_TAU * size - STANDARD_ERRORS * Math.sqrt(size);
      if (Math.abs(size - 2 * (coarse & 0xffff)) < minimum) continue;
      const full = compareSketches(sketches, a, b, WORDS);
      const common = full >>> 16;
      const strength = Math.abs(common - 2 * (full & 0xffff)) / (common + UNDECIDED_PRIOR);
      if (strength === 0) continue;
      offer(own, { index: b, strength }, keep);
      offer(lists[b] ?? [], { index: a, strength }, keep);
    }
  }
  return lists.map((list) => list.map(({ index }) => index));
}
