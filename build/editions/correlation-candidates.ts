/**
 * Which pairs of very many indicators are worth an exact comparison.
 *
 * The sketch of an indicator holds, for each of 1,024 pairs of countries, whether it has both and which of the two has
 * the larger value. The share of pairs on which two sketches agree estimates Kendall's τ over the countries that both
 * have, missing ones included rightly, and τ goes with Spearman's ρ. A look at the first 256 pairs costs some thirty
 * nanoseconds and settles most pairs of indicators; the rest are looked at in full, and each indicator keeps the
 * `keep` partners that agree or disagree most. So the exact work grows as the number of indicators does.
 *
 * Which pairs of countries are drawn depends on the data alone: the same input gives the same answer.
 */

const WORDS = 32;
const PAIRS = WORDS * 32;
/** Looked at first. */
const COARSE_WORDS = 8;
/** |ρ| ≥ 0.7 is about |τ| ≥ 0.5; what falls short of it by twice the error of the first look is let go. */
const CORRELATED_TAU = 0.5;
const ERRORS_ALLOWED = 2;
/** Fewer common pairs tell nothing: they count as if so many more had been undecided. */
const DOUBT = 6;

interface Sketches {
  /** `WORDS` words an indicator: the country that stands first in a pair has the larger value. */
  larger: Int32Array;
  /** And: both countries have a value, and not the same one. */
  decided: Int32Array;
}

/** Multiplicative congruence; good enough to draw pairs, and the same on every machine. */
function drawer(): (bound: number) => number {
  let state = 0x2545f491;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

/** Pairs of different countries, those with figures of many indicators more often than others. */
function drawPairs(values: readonly Float64Array[], countries: number): Uint16Array {
  const cells: number[] = [];
  const draw = drawer();
  const sums = new Float64Array(countries + 1);
  for (let country = 0; country < countries; country += 1) {
    const held = values.reduce((sum, column) => sum + (Number.isNaN(column[country]) ? 0 : 1), 0);
    sums[country + 1] = (sums[country] ?? 0) + held;
  }
  const total = sums[countries] ?? 0;
  const one = (): number => {
    const at = draw(total);
    return sums.findIndex((sum, index) => index > 0 && at < sum) - 1;
  };
  while (cells.length < 2 * PAIRS) {
    const [first, second] = [one(), one()];
    if (first !== second) cells.push(first, second);
  }
  return Uint16Array.from(cells);
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

/** Bits of each byte of a word, as four bytes of a word. */
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

/** The strongest partners of one indicator so far: twice as many as wanted at most, then the weaker half goes. */
class Shortlist {
  readonly #keep: number;
  readonly #partners: Int32Array;
  readonly #scores: Float32Array;
  #size = 0;
  /** What a newcomer must exceed. */
  #bar = 0;

  constructor(keep: number) {
    this.#keep = keep;
    this.#partners = new Int32Array(2 * keep);
    this.#scores = new Float32Array(2 * keep);
  }

  offer(partner: number, score: number): void {
    if (score <= this.#bar) return;
    if (this.#size === 2 * this.#keep) this.#cut();
    this.#partners[this.#size] = partner;
    this.#scores[this.#size] = score;
    this.#size += 1;
  }

  partners(): number[] {
    this.#cut();
    return [...this.#partners.subarray(0, this.#size)];
  }

  /** Leaves the strongest in the order they came; of equals those that came first. */
  #cut(): void {
    if (this.#size <= this.#keep) return;
    const scores = this.#scores.subarray(0, this.#size);
    const sorted = scores.toSorted();
    const bar = sorted[this.#size - this.#keep] ?? 0;
    let equals = this.#keep - (this.#size - 1 - sorted.lastIndexOf(bar));
    let kept = 0;
    for (let at = 0; at < this.#size; at += 1) {
      const score = scores[at] ?? 0;
      if (score < bar || (score === bar && equals <= 0)) continue;
      if (score === bar) equals -= 1;
      this.#partners[kept] = this.#partners[at] ?? 0;
      scores[kept] = score;
      kept += 1;
    }
    this.#size = kept;
    this.#bar = bar;
  }
}

/** Compares sketches: a short look at all, a full one at those that it leaves. */
class Comparison {
  readonly #sketches: Sketches;
  readonly #size: number;
  /** The first words of every sketch, side by side: `larger`, then `decided`. A look at all of them stays in the cache. */
  readonly #first: Int32Array;
  readonly #left: Int32Array;
  /** By how many pairs are common: by how many of them agreement must outweigh the contrary, or it outweigh agreement. */
  readonly #least: Float64Array;

  constructor(sketches: Sketches, size: number) {
    this.#sketches = sketches;
    this.#size = size;
    this.#left = new Int32Array(size);
    this.#first = new Int32Array(size * 2 * COARSE_WORDS);
    for (let indicator = 0; indicator < size; indicator += 1) {
      const from = indicator * WORDS;
      const to = indicator * 2 * COARSE_WORDS;
      this.#first.set(sketches.larger.subarray(from, from + COARSE_WORDS), to);
      this.#first.set(sketches.decided.subarray(from, from + COARSE_WORDS), to + COARSE_WORDS);
    }
    // With c pairs in common the error of agreeing − disagreeing is about √c.
    this.#least = Float64Array.from(
      { length: COARSE_WORDS * 32 + 1 },
      (_, common) => CORRELATED_TAU * common - ERRORS_ALLOWED * Math.sqrt(common),
    );
  }

  /** The later indicators that a first look does not settle. The array is used again. */
  laterLeft(a: number): Int32Array {
    const first = this.#first;
    const own = a * 2 * COARSE_WORDS;
    let left = 0;
    for (let b = a + 1; b < this.#size; b += 1) {
      const other = b * 2 * COARSE_WORDS;
      // Eight words put at most 64 into each byte of a sum.
      let common = 0;
      let apart = 0;
      for (let word = 0; word < COARSE_WORDS; word += 1) {
        const decided = word + COARSE_WORDS;
        const both = (first[own + decided] ?? 0) & (first[other + decided] ?? 0);
        common += bitsByByte(both);
        apart += bitsByByte(((first[own + word] ?? 0) ^ (first[other + word] ?? 0)) & both);
      }
      common = sumOfBytes(common);
      if (Math.abs(common - 2 * sumOfBytes(apart)) < (this.#least[common] ?? 0)) continue;
      this.#left[left] = b;
      left += 1;
    }
    return this.#left.subarray(0, left);
  }

  /** |agreeing − disagreeing| over all common pairs, doubted where they are few: 0 to 1. */
  likeness(a: number, b: number): number {
    const { larger, decided } = this.#sketches;
    let common = 0;
    let apart = 0;
    for (let word = 0; word < WORDS; word += 1) {
      const [inA, inB] = [a * WORDS + word, b * WORDS + word];
      const both = (decided[inA] ?? 0) & (decided[inB] ?? 0);
      common += sumOfBytes(bitsByByte(both));
      apart += sumOfBytes(bitsByByte(((larger[inA] ?? 0) ^ (larger[inB] ?? 0)) & both));
    }
    return Math.abs(common - 2 * apart) / (common + DOUBT);
  }
}

/**
 * For each indicator, up to `keep` others whose order of countries is likely the same or the opposite.
 * @param values by indicator and country number; NaN where there is none.
 */
export function correlationCandidates(values: readonly Float64Array[], keep: number): number[][] {
  const countries = values[0]?.length ?? 0;
  const hasPairs = values.some((column) => column.filter((value) => !Number.isNaN(value)).length > 1);
  if (!hasPairs) return values.map(() => []);
  const comparison = new Comparison(sketch(values, drawPairs(values, countries)), values.length);
  const lists = values.map(() => new Shortlist(keep));
  for (const [a, own] of lists.entries()) {
    const left = comparison.laterLeft(a);
    for (let at = 0; at < left.length; at += 1) {
      const b = left[at] ?? 0;
      const score = comparison.likeness(a, b);
      own.offer(b, score);
      lists[b]?.offer(a, score);
    }
  }
  return lists.map((list) => list.partners());
}
