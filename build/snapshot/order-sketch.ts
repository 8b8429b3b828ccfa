/**
 * Which pairs of very many indicators are worth an exact comparison.
 *
 * The sketch of an indicator holds, for each of 1,024 pairs of countries, whether it has both and which of the two has
 * the larger value. The share of pairs on which two sketches agree estimates Kendall's τ over the countries that both
 * have, missing ones included rightly, and τ goes with Spearman's ρ. A look at the first 128 pairs costs some ten
 * nanoseconds and settles most pairs of indicators; the rest are looked at in full, and each indicator keeps the
 * `keep` partners that agree or disagree most. So the exact work grows as the number of indicators does.
 *
 * Which pairs of countries are drawn depends on the data alone: the same input gives the same answer.
 */

const WORDS = 32;
const PAIRS = WORDS * 32;
/** Looked at first. */
const COARSE_WORDS = 4;
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
  bar = 0;

  constructor(keep: number) {
    this.#keep = keep;
    this.#partners = new Int32Array(2 * keep);
    this.#scores = new Float32Array(2 * keep);
  }

  offer(partner: number, score: number): void {
    if (score <= this.bar) return;
    this.#partners[this.#size] = partner;
    this.#scores[this.#size] = score;
    this.#size += 1;
    if (this.#size === 2 * this.#keep) this.#halve();
  }

  #halve(): void {
    const best = this.best();
    const scores = best.map((at) => this.#scores[at] ?? 0);
    const partners = best.map((at) => this.#partners[at] ?? 0);
    this.#scores.set(scores);
    this.#partners.set(partners);
    this.#size = best.length;
    this.bar = scores.at(-1) ?? 0;
  }

  /** Places of the strongest, strongest first; of equals those that came first. */
  best(): number[] {
    const places = Array.from({ length: this.#size }, (_, at) => at);
    places.sort((a, b) => (this.#scores[b] ?? 0) - (this.#scores[a] ?? 0) || a - b);
    return places.slice(0, this.#keep);
  }

  partners(): number[] {
    return this.best().map((at) => this.#partners[at] ?? 0);
  }
}

/**
 * For each indicator, up to `keep` others whose order of countries is likely the same or the opposite, strongest first.
 * @param values by indicator and country number; NaN where there is none.
 */
export function likelyCorrelated(values: readonly Float64Array[], keep: number): number[][] {
  const countries = values[0]?.length ?? 0;
  const hasPairs = values.some((column) => column.filter((value) => !Number.isNaN(value)).length > 1);
  if (!hasPairs) return values.map(() => []);
  const { larger, decided } = sketch(values, drawPairs(values, countries));
  const lists = values.map(() => new Shortlist(keep));

  /** |agreeing − disagreeing| over common pairs, doubted where they are few; negative when the first look settles it. */
  const likeness = (a: number, b: number): number => {
    let common = 0;
    let apart = 0;
    for (let word = 0; word < COARSE_WORDS; word += 1) {
      const both = (decided[a + word] ?? 0) & (decided[b + word] ?? 0);
      common += bitsByByte(both);
      apart += bitsByByte(((larger[a + word] ?? 0) ^ (larger[b + word] ?? 0)) & both);
    }
    common = sumOfBytes(common);
    const coarse = Math.abs(common - 2 * sumOfBytes(apart));
    // With c pairs in common the error of agreeing − disagreeing is about √c.
    if (coarse < CORRELATED_TAU * common - ERRORS_ALLOWED * Math.sqrt(common)) return -1;
    let all = 0;
    let opposed = 0;
    for (let word = 0; word < WORDS; word += 1) {
      const both = (decided[a + word] ?? 0) & (decided[b + word] ?? 0);
      all += sumOfBytes(bitsByByte(both));
      opposed += sumOfBytes(bitsByByte(((larger[a + word] ?? 0) ^ (larger[b + word] ?? 0)) & both));
    }
    return Math.abs(all - 2 * opposed) / (all + DOUBT);
  };

  lists.forEach((own, a) => {
    for (let b = a + 1; b < lists.length; b += 1) {
      const score = likeness(a * WORDS, b * WORDS);
      if (score < 0) continue;
      own.offer(b, score);
      lists[b]?.offer(a, score);
    }
  });
  return lists.map((list) => list.partners());
}
