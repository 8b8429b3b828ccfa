/**
 * Which texts hold a token, without looking at every text.
 *
 * A token has no white space in it, so wherever it occurs in a text it lies within one word. However many texts there
 * are, they share most words. So each word knows its texts, each three letters in a row know their words, and only words
 * with the rarest three letters of the token are looked at. The answer is that of searching every text.
 */

const SPACE = /\s+/u;
const RUN = 3;

/** Lists of numbers by key; a number is added to a key once, however often it is told in a row. */
class Postings {
  readonly keys = new Map<string, number>();
  readonly lists: number[][] = [];

  add(key: string, number: number): void {
    let place = this.keys.get(key);
    if (place === undefined) {
      place = this.lists.length;
      this.keys.set(key, place);
      this.lists.push([]);
    }
    const list = this.lists[place];
    if (list?.at(-1) !== number) list?.push(number);
  }

  of(key: string): readonly number[] {
    return this.lists[this.keys.get(key) ?? -1] ?? [];
  }
}

function* runsOf(word: string): Generator<string, void, undefined> {
  for (let at = 0; at + RUN <= word.length; at += 1) yield word.slice(at, at + RUN);
}

export class WordIndex {
  readonly #words: readonly string[];
  /** By the word's place in `#words`. */
  readonly #texts: readonly (readonly number[])[];
  readonly #wordsByRun = new Postings();
  /** By text: the last round of looking that found it. Kept, so that a search costs what it finds and not what there is. */
  readonly #foundIn: Float64Array;
  #round = 0;

  constructor(texts: readonly string[]) {
    const byWord = new Postings();
    for (const [number, text] of texts.entries())
      for (const word of text.split(SPACE)) byWord.add(word, number);
    this.#words = [...byWord.keys.keys()];
    this.#texts = byWord.lists;
    for (const [number, word] of this.#words.entries())
      for (const run of runsOf(word)) this.#wordsByRun.add(run, number);
    this.#foundIn = new Float64Array(texts.length);
  }

  /** The texts that hold every token, in ascending order. Tokens are not empty and have no white space. */
  holding(tokens: readonly string[]): readonly number[] {
    if (tokens.length === 0) return [...this.#foundIn.keys()];
    let held: number[] = [];
    for (const [at, token] of tokens.entries()) held = this.#heldToo(token, at === 0);
    return held.sort((a, b) => a - b);
  }

  /** Of the texts that the round before has found, or of all, those that hold a token. */
  #heldToo(token: string, isFirst: boolean): number[] {
    const before = this.#round;
    this.#round += 1;
    const held: number[] = [];
    for (const word of this.#wordsWith(token)) {
      for (const text of this.#texts[word] ?? []) {
        const found = this.#foundIn[text];
        if (found === this.#round || (!isFirst && found !== before)) continue;
        this.#foundIn[text] = this.#round;
        held.push(text);
      }
    }
    return held;
  }

  #wordsWith(token: string): number[] {
    let fewest: Iterable<number> & { length?: number } = this.#words.keys();
    for (const run of runsOf(token)) {
      const list = this.#wordsByRun.of(run);
      if (list.length < (fewest.length ?? Number.POSITIVE_INFINITY)) fewest = list;
    }
    const found: number[] = [];
    for (const word of fewest) if (this.#words[word]?.includes(token)) found.push(word);
    return found;
  }
}
