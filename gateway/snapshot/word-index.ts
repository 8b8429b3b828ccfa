/**
 * Which texts hold a token, without looking at every text.
 *
 * A token has no white space in it, so wherever it occurs in a text it lies within one word. However many texts there
 * are, they share most words. So each word knows its texts, each five letters in a row know their words, and only words
 * with the rarest five letters of the token are looked at; of a shorter token, three. The answer is that of searching every
 * text.
 */

const SPACE = /\s+/u;
/** With three letters alone, thirty times as many words made a search for one of them a sixth dearer. */
const RUN_LENGTHS = [5, 3] as const;

/** Lists of numbers, one behind the other, since a hundred thousand small lists are slow to walk and to collect. */
class Lists {
  readonly #numbers: Uint32Array;
  /** Where each begins, and the last one ends. */
  readonly #starts: Uint32Array;

  constructor(lists: readonly (readonly number[])[]) {
    this.#starts = new Uint32Array(lists.length + 1);
    for (const [at, { length }] of lists.entries()) this.#starts[at + 1] = this.start(at) + length;
    this.#numbers = new Uint32Array(this.start(lists.length));
    for (const [at, list] of lists.entries()) this.#numbers.set(list, this.start(at));
  }

  /** Its end is where the next one starts. */
  start(list: number): number {
    return this.#starts[list] ?? 0;
  }

  length(list: number): number {
    return this.start(list + 1) - this.start(list);
  }

  number(at: number): number {
    return this.#numbers[at] ?? 0;
  }
}

/** Gathers lists by key; a number is added to a key once, however often it is told in a row. */
class Gathering {
  readonly places = new Map<string, number>();
  readonly lists: number[][] = [];

  add(key: string, number: number): void {
    let place = this.places.get(key);
    if (place === undefined) {
      place = this.lists.length;
      this.places.set(key, place);
      this.lists.push([]);
    }
    const list = this.lists[place];
    if (list?.at(-1) !== number) list?.push(number);
  }
}

export class WordIndex {
  readonly #words: readonly string[];
  /** By the word's place in `#words`. */
  readonly #texts: Lists;
  /** Where in `#wordsByRun` the words with a run of letters are. */
  readonly #runs: ReadonlyMap<string, number>;
  readonly #wordsByRun: Lists;
  /** By text: the last round of looking that found it. Kept, so that a search costs what it finds and not what there is. */
  readonly #foundIn: Float64Array;
  #round = 0;

  constructor(texts: readonly string[]) {
    const byWord = new Gathering();
    for (const [number, text] of texts.entries())
      for (const word of text.split(SPACE)) byWord.add(word, number);
    this.#words = [...byWord.places.keys()];
    this.#texts = new Lists(byWord.lists);
    const byRun = new Gathering();
    for (const length of RUN_LENGTHS)
      for (const [number, word] of this.#words.entries())
        for (let at = 0; at + length <= word.length; at++) byRun.add(word.slice(at, at + length), number);
    this.#runs = byRun.places;
    this.#wordsByRun = new Lists(byRun.lists);
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
      const end = this.#texts.start(word + 1);
      for (let at = this.#texts.start(word); at < end; at++) {
        const text = this.#texts.number(at);
        const found = this.#foundIn[text];
        if (found === this.#round || (!isFirst && found !== before)) continue;
        this.#foundIn[text] = this.#round;
        held.push(text);
      }
    }
    return held;
  }

  #wordsWith(token: string): number[] {
    const found: number[] = [];
    const take = (word: number): void => {
      if (this.#words[word]?.includes(token)) found.push(word);
    };
    const length = RUN_LENGTHS.find((letters) => letters <= token.length);
    if (length === undefined) {
      for (let word = 0; word < this.#words.length; word++) take(word);
      return found;
    }
    const run = this.#rarestRun(token, length);
    if (run === undefined) return found;
    const end = this.#wordsByRun.start(run + 1);
    for (let at = this.#wordsByRun.start(run); at < end; at++) take(this.#wordsByRun.number(at));
    return found;
  }

  /** Undefined when no word has one of them. */
  #rarestRun(token: string, length: number): number | undefined {
    let rarest: number | undefined;
    for (let at = 0; at + length <= token.length; at++) {
      const run = this.#runs.get(token.slice(at, at + length));
      if (run === undefined) return undefined;
      if (rarest === undefined || this.#wordsByRun.length(run) < this.#wordsByRun.length(rarest))
        rarest = run;
    }
    return rarest;
  }
}
