/**
 * An n-gram index: finds the texts that contain a token as a substring, without scanning every text.
 *
 * A token has no white space, so each occurrence lies within one word, and texts share most words. Each word lists its
 * texts, and each run of five (three, for shorter tokens) letters lists its words; only words with the token's rarest run are
 * compared. With trigrams alone, search was 17 % slower at 30 × the words (`npm run bench:scale`).
 */

const SPACE = /\s+/u;
const RUN_LENGTHS = [5, 3] as const;

/** PackedLists of numbers in one array: a hundred thousand small arrays are slow to iterate and to collect. */
class PackedLists {
  readonly #numbers: Uint32Array;
  /** The start of each list, and the end of the last one. */
  readonly #starts: Uint32Array;

  constructor(lists: readonly (readonly number[])[]) {
    this.#starts = new Uint32Array(lists.length + 1);
    for (const [at, { length }] of lists.entries()) this.#starts[at + 1] = this.start(at) + length;
    this.#numbers = new Uint32Array(this.start(lists.length));
    for (const [at, list] of lists.entries()) this.#numbers.set(list, this.start(at));
  }

  /** A list ends where the next one starts. */
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

/** Collects lists by key; a number is added once, however often it is repeated in a row. */
class ListBuilder {
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
  /** Texts by index in `#words`. */
  readonly #texts: PackedLists;
  /** Index in `#wordsByRun` by run of letters. */
  readonly #runs: ReadonlyMap<string, number>;
  readonly #wordsByRun: PackedLists;
  /** By text: the last round that found it. Reused, so that a search allocates only for what it finds. */
  readonly #foundIn: Float64Array;
  #round = 0;

  constructor(texts: readonly string[]) {
    const byWord = new ListBuilder();
    for (const [number, text] of texts.entries())
      for (const word of text.split(SPACE)) byWord.add(word, number);
    this.#words = [...byWord.places.keys()];
    this.#texts = new PackedLists(byWord.lists);
    const byRun = new ListBuilder();
    for (const length of RUN_LENGTHS)
      for (const [number, word] of this.#words.entries())
        for (let at = 0; at + length <= word.length; at++) byRun.add(word.slice(at, at + length), number);
    this.#runs = byRun.places;
    this.#wordsByRun = new PackedLists(byRun.lists);
    this.#foundIn = new Float64Array(texts.length);
  }

  /** The texts that contain every token, ascending. Tokens are not empty and have no white space. */
  withAll(tokens: readonly string[]): readonly number[] {
    if (tokens.length === 0) return [...this.#foundIn.keys()];
    let held: number[] = [];
    for (const [at, token] of tokens.entries()) held = this.#narrow(token, at === 0);
    return held.sort((a, b) => a - b);
  }

  /** The texts with a token, out of those that the previous round found, or out of all. */
  #narrow(token: string, isFirst: boolean): number[] {
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

  /** Undefined when a run occurs in no word. */
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
