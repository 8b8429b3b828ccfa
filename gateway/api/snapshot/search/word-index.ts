/**
 * An n-gram index: finds the texts that contain a token as a substring, without scanning every text.
 *
 * A token has no white space, so each occurrence lies within one word, and texts share most words. Each word lists its
 * texts, and each run of three letters lists its words; only words with the token's rarest run are compared.
 */

const SPACE = /\s+/u;
const RUN_LENGTH = 3;

/** Adds a number to the list of a key once, however often it is repeated in a row. */
function add<Item>(lists: Map<string, Item[]>, key: string, item: Item): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else if (list.at(-1) !== item) list.push(item);
}

const runsOf = (word: string): string[] =>
  Array.from({ length: Math.max(0, word.length - RUN_LENGTH + 1) }, (_, at) =>
    word.slice(at, at + RUN_LENGTH),
  );

export class WordIndex {
  /** Numbers of texts. */
  readonly #byWord = new Map<string, number[]>();
  readonly #wordsByRun = new Map<string, string[]>();

  constructor(texts: readonly string[]) {
    for (const [number, text] of texts.entries())
      for (const word of text.split(SPACE)) add(this.#byWord, word, number);
    for (const word of this.#byWord.keys()) for (const run of runsOf(word)) add(this.#wordsByRun, run, word);
  }

  /** The texts that contain every token, ascending. There are tokens; none is empty or has white space. */
  withAll(tokens: readonly string[]): readonly number[] {
    const found = tokens.map((token) => {
      const words = this.#candidates(token).filter((word) => word.includes(token));
      return new Set(words.flatMap((word) => this.#byWord.get(word) ?? []));
    });
    const [first = new Set<number>(), ...others] = found;
    return [...first].filter((text) => others.every((held) => held.has(text))).sort((a, b) => a - b);
  }

  /** All words that may contain a token. */
  #candidates(token: string): readonly string[] {
    const runs = runsOf(token);
    if (runs.length === 0) return [...this.#byWord.keys()];
    return runs
      .map((run) => this.#wordsByRun.get(run) ?? [])
      .reduce((fewest, words) => (words.length < fewest.length ? words : fewest));
  }
}
