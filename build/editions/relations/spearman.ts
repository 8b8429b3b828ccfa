/**
 * Spearman's ρ for very many pairs of indicators, by merging presorted lists.
 *
 * Each indicator's countries are sorted by value once. A pair is then ranked over its common countries in one pass
 * along each list, with average ranks for ties: 1 to 2 µs. Ranks are doubled, so all sums are whole numbers and the result is
 * the same on every machine.
 */

export interface SortedSeries {
  /** Country numbers in ascending order of value. */
  order: Uint16Array;
  /** Tie group by position: equal values share a number. */
  tie: Uint16Array;
  hasTies: boolean;
  /** One byte per country: 1 where it has a value. */
  present: Uint8Array;
}

/** @param values by country number; NaN where missing. */
export function sortByValue(values: Float64Array): SortedSeries {
  const countries = Array.from(values.keys()).filter((country) => !Number.isNaN(values[country]));
  const at = (country: number): number => values[country] ?? 0;
  countries.sort((a, b) => at(a) - at(b) || a - b);
  const tie = new Uint16Array(countries.length);
  for (let index = 1; index < countries.length; index += 1) {
    const equal = at(countries[index] ?? 0) === at(countries[index - 1] ?? 0);
    tie[index] = (tie[index - 1] ?? 0) + (equal ? 0 : 1);
  }
  return {
    order: Uint16Array.from(countries),
    tie,
    hasTies: (tie.at(-1) ?? 0) + 1 < countries.length,
    present: Uint8Array.from(values, (value) => (Number.isNaN(value) ? 0 : 1)),
  };
}

export class Spearman {
  readonly #ranksA: Float64Array;
  readonly #ranksB: Float64Array;

  /** @param countries how many country numbers there are. */
  constructor(countries: number) {
    this.#ranksA = new Float64Array(countries);
    this.#ranksB = new Float64Array(countries);
  }

  /** The number of common countries, and ρ over them: 0 where it is undefined (fewer than two, or all values equal). */
  compare(a: SortedSeries, b: SortedSeries): { common: number; rho: number } {
    const size = rank(a, b, this.#ranksA);
    rank(b, a, this.#ranksB);
    if (size < 2) return { common: size, rho: 0 };
    const { order } = a;
    const { present } = b;
    const [ranksA, ranksB] = [this.#ranksA, this.#ranksB];
    // Doubled ranks 1..n have the mean n + 1, with or without ties.
    const mean = size + 1;
    let products = 0;
    let squaresA = 0;
    let squaresB = 0;
    for (let at = 0; at < order.length; at += 1) {
      const country = order[at] ?? 0;
      const counts = present[country] ?? 0;
      const x = ((ranksA[country] ?? 0) - mean) * counts;
      const y = ((ranksB[country] ?? 0) - mean) * counts;
      products += x * y;
      squaresA += x * x;
      squaresB += y * y;
    }
    const isUndefined = squaresA === 0 || squaresB === 0;
    return { common: size, rho: isUndefined ? 0 : products / Math.sqrt(squaresA * squaresB) };
  }
}

/**
 * Writes doubled average ranks of `own` over the common countries, and returns their number. Entries of other
 * countries are meaningless: a branch to skip them would take twice the time, since it is unpredictable.
 */
function rank(own: SortedSeries, other: SortedSeries, ranks: Float64Array): number {
  // Most series have no ties, and are ranked in a seventh of the time.
  if (own.hasTies) return tiedRank(own, other, ranks);
  const { order } = own;
  const { present } = other;
  let size = 0;
  for (let at = 0; at < order.length; at += 1) {
    const country = order[at] ?? 0;
    size += present[country] ?? 0;
    ranks[country] = 2 * size;
  }
  return size;
}

function tiedRank({ order, tie }: SortedSeries, { present }: SortedSeries, ranks: Float64Array): number {
  let before = 0;
  let at = 0;
  while (at < order.length) {
    const group = tie[at];
    const first = at;
    let size = 0;
    for (; at < order.length && tie[at] === group; at += 1) size += present[order[at] ?? 0] ?? 0;
    // The group has ranks before+1 to before+size; twice their mean is first + last.
    const doubled = 2 * before + size + 1;
    for (let index = first; index < at; index += 1) ranks[order[index] ?? 0] = doubled;
    before += size;
  }
  return before;
}
