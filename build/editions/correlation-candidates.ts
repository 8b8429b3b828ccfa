/**
 * Candidates for rank correlation among many indicators, without comparing every pair exactly.
 *
 * Method: a sketch per indicator holds, for 1,024 random pairs of countries, which country has the larger value. The
 * share of pairs on which two sketches agree estimates Kendall's τ, which goes with Spearman's ρ. The first 256 pairs
 * rule out most pairs of indicators (about 30 ns each, against 1 to 2 µs for an exact ρ); the others are compared over
 * the whole sketch, and each indicator keeps its `keep` strongest candidates. Exact work then grows linearly.
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

interface Sketches {
  /** Bit set: the first country of the pair has the larger value. `WORDS` words per indicator. */
  larger: Int32Array;
  /** Bit set: both countries have a value, and the values differ. */
  decided: Int32Array;
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

function sketch(values: readonly Float64Array[], pairs: Uint16Array): Sketches {
  const larger = new Int32Array(values.length * WORDS);
  const decided = new Int32Array(values.length * WORDS);
  values.forEach((column, indicator) => {
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const first = column[pairs[2 * pair] ?? 0] ?? Number.NaN;
      const second = column[pairs[2 * pair + 1] ?? 0] ?? Number.NaN;
      const word = indicator * WORDS + (pair >> 5);
      const bit = 1 << (pair & 31);
      if (first > second) larger[word] = (larger[word] ?? 0) | bit;
      if (first > second || first < second) decided[word] = (decided[word] ?? 0) | bit;
    }
  });
  return { larger, decided };
}

/** Bit counts of the four bytes of a word, as four bytes. */
function bitsByByte(word: number): number {
  const byTwo = word - ((word >>> 1) & 0x55555555);
  const byFour = (byTwo & 0x33333333) + ((byTwo >>> 2) & 0x33333333);
  return (byFour + (byFour >>> 4)) & 0x0f0f0f0f;
}

/** The sum of the four bytes of a word; it is below 2¹⁶. */
const sumOfBytes = (word: number): number => {
  const byTwo = (word & 0x00ff00ff) + ((word >>> 8) & 0x00ff00ff);
  return (byTwo & 0xffff) + (byTwo >>> 16);
};

/** Keeps the strongest candidates of one indicator in a buffer of twice the size, cut when it is full. */
class TopCandidates {
  readonly #keep: number;
  readonly #indexes: Int32Array;
  readonly #scores: Float32Array;
  #size = 0;
  /** Scores at or below it are ignored. */
  #threshold = 0;

  constructor(keep: number) {
    this.#keep = keep;
    this.#indexes = new Int32Array(2 * keep);
    this.#scores = new Float32Array(2 * keep);
  }

  offer(index: number, score: number): void {
    if (score <= this.#threshold) return;
    if (this.#size === 2 * this.#keep) this.#cut();
    this.#indexes[this.#size] = index;
    this.#scores[this.#size] = score;
    this.#size += 1;
  }

  indexes(): number[] {
    this.#cut();
    return [...this.#indexes.subarray(0, this.#size)];
  }

  /** Drops the weaker half. Keeps insertion order; the first of equals wins. */
  #cut(): void {
    if (this.#size <= this.#keep) return;
    const scores = this.#scores.subarray(0, this.#size);
    const sorted = scores.toSorted();
    const threshold = sorted[this.#size - this.#keep] ?? 0;
    let equals = this.#keep - (this.#size - 1 - sorted.lastIndexOf(threshold));
    let kept = 0;
    for (let at = 0; at < this.#size; at += 1) {
      const score = scores[at] ?? 0;
      if (score < threshold || (score === threshold && equals <= 0)) continue;
      if (score === threshold) equals -= 1;
      this.#indexes[kept] = this.#indexes[at] ?? 0;
      scores[kept] = score;
      kept += 1;
    }
    this.#size = kept;
    this.#threshold = threshold;
  }
}

/** Compares sketches: all by their first words, the remaining ones in full. */
class SketchComparison {
  readonly #sketches: Sketches;
  readonly #size: number;
  /** The first words of every sketch (`larger`, then `decided`), contiguous for the processor's cache. */
  readonly #first: Int32Array;
  readonly #remaining: Int32Array;
  /** Minimum |agreeing − disagreeing| by number of common pairs. */
  readonly #minimum: Float64Array;

  constructor(sketches: Sketches, size: number) {
    this.#sketches = sketches;
    this.#size = size;
    this.#remaining = new Int32Array(size);
    this.#first = new Int32Array(size * 2 * COARSE_WORDS);
    for (let indicator = 0; indicator < size; indicator += 1) {
      const from = indicator * WORDS;
      const to = indicator * 2 * COARSE_WORDS;
      this.#first.set(sketches.larger.subarray(from, from + COARSE_WORDS), to);
      this.#first.set(sketches.decided.subarray(from, from + COARSE_WORDS), to + COARSE_WORDS);
    }
    // The standard error of agreeing − disagreeing over c pairs is about √c.
    this.#minimum = Float64Array.from(
      { length: COARSE_WORDS * 32 + 1 },
      (_, common) => MIN_TAU * common - STANDARD_ERRORS * Math.sqrt(common),
    );
  }

  /** The later indicators that the first comparison does not rule out. The array is reused. */
  remainingAfter(a: number): Int32Array {
    const first = this.#first;
    const own = a * 2 * COARSE_WORDS;
    let count = 0;
    for (let b = a + 1; b < this.#size; b += 1) {
      const other = b * 2 * COARSE_WORDS;
      // Eight words add at most 64 to each byte, so the byte sums do not overflow.
      let common = 0;
      let opposed = 0;
      for (let word = 0; word < COARSE_WORDS; word += 1) {
        const decided = word + COARSE_WORDS;
        const both = (first[own + decided] ?? 0) & (first[other + decided] ?? 0);
        common += bitsByByte(both);
        opposed += bitsByByte(((first[own + word] ?? 0) ^ (first[other + word] ?? 0)) & both);
      }
      common = sumOfBytes(common);
      if (Math.abs(common - 2 * sumOfBytes(opposed)) < (this.#minimum[common] ?? 0)) continue;
      this.#remaining[count] = b;
      count += 1;
    }
    return this.#remaining.subarray(0, count);
  }

  /** Estimated |τ| over all common pairs, 0 to 1, shrunk where they are few. */
  score(a: number, b: number): number {
    const { larger, decided } = this.#sketches;
    let common = 0;
    let opposed = 0;
    for (let word = 0; word < WORDS; word += 1) {
      const [inA, inB] = [a * WORDS + word, b * WORDS + word];
      const both = (decided[inA] ?? 0) & (decided[inB] ?? 0);
      common += sumOfBytes(bitsByByte(both));
      opposed += sumOfBytes(bitsByByte(((larger[inA] ?? 0) ^ (larger[inB] ?? 0)) & both));
    }
    return Math.abs(common - 2 * opposed) / (common + UNDECIDED_PRIOR);
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
  const comparison = new SketchComparison(sketch(values, drawPairs(values, countries)), values.length);
  const lists = values.map(() => new TopCandidates(keep));
  for (const [a, own] of lists.entries()) {
    const remaining = comparison.remainingAfter(a);
    for (let at = 0; at < remaining.length; at += 1) {
      const b = remaining[at] ?? 0;
      const score = comparison.score(a, b);
      own.offer(b, score);
      lists[b]?.offer(a, score);
    }
  }
  return lists.map((list) => list.indexes());
}
