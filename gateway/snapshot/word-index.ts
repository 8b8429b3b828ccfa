/**
 * Which texts hold a token, without looking at every text.
 *
 * A token has no white space in it, so wherever it occurs in a text it lies within one word. However many texts there
 * are, they share most words. So each word knows its texts, each three letters in a row know their words, and only words
 * with the rarest three letters of the token are looked at. The answer is that of searching every text.
 */

const SPACE = /\s+/u;
const RUN = 3;

/** A text's number under each of some keys. */
class Postings {
  readonly #numbers = new Map<string, number[]>();

  add(key: string, number: number): void {
    const known = this.#numbers.get(key);
    if (!known) this.#numbers.set(key, [number]);
    else if (known.at(-1) !== number) known.push(number);
  }

  get keys(): string[] {
    return [...this.#numbers.keys()];
  }

  of(key: string): readonly number[] {
    return this.#numbers.get(key) ?? [];
  }
}

function* runsOf(word: string): Generator<string, void, undefined> {
  for (let at = 0; at + RUN <= word.length; at += 1) yield word.slice(at, at + RUN);
}

export class WordIndex {
  readonly #textsByWord = new Postings();
  readonly #words: readonly string[];
  readonly #wordsByRun = new Postings();
  readonly #size: number;

  constructor(texts: readonly string[]) {
    for (const [number, text] of texts.entries())
      for (const word of text.split(SPACE)) this.#textsByWord.add(word, number);
    this.#words = this.#textsByWord.keys;
    for (const [number, word] of this.#words.entries())
      for (const run of runsOf(word)) this.#wordsByRun.add(run, number);
    this.#size = texts.length;
  }

  /** One byte a text: 1 where it holds every token. Tokens are not empty and have no white space. */
  holding(tokens: readonly string[]): Uint8Array {
    let held = new Uint8Array(this.#size).fill(1);
    for (const token of tokens) {
      const both = new Uint8Array(this.#size);
      for (const word of this.#wordsWith(token))
        for (const text of this.#textsByWord.of(word)) both[text] = held[text] ?? 0;
      held = both;
    }
    return held;
  }

  #wordsWith(token: string): string[] {
    if (token.length < RUN) return this.#words.filter((word) => word.includes(token));
    const candidates = [...runsOf(token)].map((run) => this.#wordsByRun.of(run));
    const [fewest = []] = candidates.sort((a, b) => a.length - b.length);
    return fewest.flatMap((number) => {
      const word = this.#words[number];
      return word?.includes(token) ? [word] : [];
    });
  }
}
