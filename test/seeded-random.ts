/** Random numbers from a seed, the same on every machine. */
export interface Random {
  /** From 0, below 1. */
  next(): number;
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number;
  pick<Item>(items: readonly Item[]): Item;
  /** A shuffled copy. */
  shuffle<Item>(items: readonly Item[]): Item[];
}

/** Mulberry32: one word of state, ample for choosing series. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    between,
    pick: (items) => {
      const [chosen] = items.slice(between(0, items.length - 1));
      if (chosen === undefined) throw new RangeError('nothing to pick from');
      return chosen;
    },
    shuffle: (items) =>
      items
        .map((item) => ({ item, at: next() }))
        .sort((a, b) => a.at - b.at)
        .map(({ item }) => item),
  };
}
