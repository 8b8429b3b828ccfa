/**
 * Spearman's ρ for very many pairs of indicators.
 *
 * Each indicator's countries are sorted by latest value once. The ranks of a pair among the countries that both have
 * then come from one walk along each sorted list, with average ranks for ties, so a pair costs a microsecond or two
 * and no allocation. Ranks are kept doubled: all sums are whole numbers and the result is the same on every machine.
 */

export interface SortedSeries {
  /** Country numbers in ascending order of value. */
  order: Uint16Array;
  /** For each position: equal values share a number. */
  tie: Uint16Array;
  hasTies: boolean;
  /** One bit a country. */
  present: Uint32Array;
  /** One byte a country: 1 where it has a value. */
  held: Uint8Array;
}

/** @param values by country number; NaN where the country has none. */
export function sortByValue(values: Float64Array): SortedSeries {
  const held = Array.from(values.keys()).filter((country) => !Number.isNaN(values[country]));
  const at = (country: number): number => values[country] ?? 0;
  held.sort((a, b) => at(a) - at(b) || a - b);
  const tie = new Uint16Array(held.length);
  for (let index = 1; index < held.length; index += 1) {
    const equal = at(held[index] ?? 0) === at(held[index - 1] ?? 0);
    tie[index] = (tie[index - 1] ?? 0) + (equal ? 0 : 1);
  }
  const present = new Uint32Array(Math.ceil(values.length / 32));
  for (const country of held) present[country >> 5] = (present[country >> 5] ?? 0) | (1 << (country & 31));
  return {
    order: Uint16Array.from(held),
    tie,
    hasTies: (tie.at(-1) ?? 0) + 1 < held.length,
    present,
    held: Uint8Array.from(values, (value) => (Number.isNaN(value) ? 0 : 1)),
  };
}

function countBits(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return (((bits + (bits >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
}

export class Spearman {
  readonly #ranksA: Float64Array;
  readonly #ranksB: Float64Array;

  /** @param countries how many country numbers there are. */
  constructor(countries: number) {
    this.#ranksA = new Float64Array(countries);
    this.#ranksB = new Float64Array(countries);
  }

  /** How many countries both have. */
  common(a: SortedSeries, b: SortedSeries): number {
    let count = 0;
    for (let word = 0; word < a.present.length; word += 1) {
      count += countBits((a.present[word] ?? 0) & (b.present[word] ?? 0));
    }
    return count;
  }

  /** ρ over the common countries; 0 where it is not defined (fewer than two, or all values equal). */
  rho(a: SortedSeries, b: SortedSeries): number {
    const size = rank(a, b, this.#ranksA);
    rank(b, a, this.#ranksB);
    if (size < 2) return 0;
    const { order } = a;
    const { held } = b;
    const [ranksA, ranksB] = [this.#ranksA, this.#ranksB];
    // Doubled ranks of 1..n have the mean n + 1, ties or not.
    const mean = size + 1;
    let products = 0;
    let squaresA = 0;
    let squaresB = 0;
    for (let at = 0; at < order.length; at += 1) {
      const country = order[at] ?? 0;
      const counts = held[country] ?? 0;
      const x = ((ranksA[country] ?? 0) - mean) * counts;
      const y = ((ranksB[country] ?? 0) - mean) * counts;
      products += x * y;
      squaresA += x * x;
      squaresB += y * y;
    }
    return squaresA === 0 || squaresB === 0 ? 0 : products / Math.sqrt(squaresA * squaresB);
  }
}

/**
 * Writes doubled average ranks of `own` among the countries that `other` has too. Returns how many there are. What it writes
 * for the others means nothing: without a branch that no processor can foresee, all take half the time.
 */
function rank(own: SortedSeries, other: SortedSeries, ranks: Float64Array): number {
  if (own.hasTies) return tiedRank(own, other, ranks);
  const { order } = own;
  const { held } = other;
  let size = 0;
  for (let at = 0; at < order.length; at += 1) {
    const country = order[at] ?? 0;
    size += held[country] ?? 0;
    ranks[country] = 2 * size;
  }
  return size;
}

function tiedRank({ order, tie }: SortedSeries, { held }: SortedSeries, ranks: Float64Array): number {
  let before = 0;
  let at = 0;
  while (at < order.length) {
    const group = tie[at];
    const first = at;
    let size = 0;
    for (; at < order.length && tie[at] === group; at += 1) size += held[order[at] ?? 0] ?? 0;
    // Ranks before+1 .. before+size; twice their mean is the sum of the first and the last.
    const doubled = 2 * before + size + 1;
    for (let index = first; index < at; index += 1) ranks[order[index] ?? 0] = doubled;
    before += size;
  }
  return before;
}
