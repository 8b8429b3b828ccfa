/** The words that a search knows: completes the beginning of one, and finds those that a misspelt one may be. */
import { distance } from 'fastest-levenshtein';
import { splitWords, type WordReader } from './search-words.ts';

const COMPLETIONS_MAX = 60;
const LETTERS = /^\p{L}+$/u;

/** How many letters of a word may be wrong: one in five, two in eight. */
export function typosIn(word: string): number {
  if (!LETTERS.test(word) || word.length < 5) return 0;
  return word.length < 8 ? 1 : 2;
}

export class Vocabulary {
  /** Sorted. */
  readonly #words: readonly string[];
  readonly #byStart: ReadonlyMap<string, readonly string[]>;

  constructor(texts: readonly string[], reader: WordReader) {
    const telling = (word: string): boolean => LETTERS.test(word) && reader.stems(word).length > 0;
    this.#words = [...new Set(texts.flatMap(splitWords))].filter(telling).sort();
    this.#byStart = Map.groupBy(this.#words, (word) => word.slice(0, 1));
  }

  startingWith(start: string): string[] {
    let [low, high] = [0, this.#words.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#words[middle] ?? '') < start) low = middle + 1;
      else high = middle;
    }
    const found = this.#words.slice(low, low + COMPLETIONS_MAX);
    return found.filter((word) => word.startsWith(start));
  }

  /** The words that are nearest to one within so many wrong letters; two letters that changed places are one. */
  like(word: string, steps: number): string[] {
    if (steps === 0) return [];
    const letters = [...word].sort().join('');
    let [found, fewest]: [string[], number] = [[], steps];
    for (const known of this.#byStart.get(word.slice(0, 1)) ?? []) {
      if (Math.abs(known.length - word.length) > steps) continue;
      const isSwap = known.length === word.length && [...known].sort().join('') === letters;
      const wrong = distance(known, word) - (isSwap ? 1 : 0);
      if (wrong < fewest) [found, fewest] = [[known], wrong];
      else if (wrong === fewest) found.push(known);
    }
    return found;
  }
}
