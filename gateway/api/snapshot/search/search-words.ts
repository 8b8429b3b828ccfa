/**
 * Reads the words of a text for the search: normalised (NFKD, case, accents, subscripts, punctuation), with curated words and
 * phrases in the place of those that mean the same, as stems, without words that say nothing.
 */
import { stemmer } from 'stemmer';
import type { SearchWords } from '../../../../data/curated/search-words.ts';

/** Words without which a phrase means the same. */
const STOP_WORDS = new Set(
  (
    'a about all am an and any are as at average be been biggest by can countries country data did do does each estimated estimates every ' +
    'figure figures find for from get give given had has have having how i if in indicator into is it its just kind level ' +
    'levels lot many me modeled much need of off on or our out over show so some statistics stats such tell than that the ' +
    'their them there these they this those to up used very want was we were what when where which while who whose ' +
    'will with within without world worldwide would year yearly years you your ilo nation national nations annual annually ' +
    'after against among before between bring brings come comes compare compared current currently during go goes going happen happens hold holds ' +
    'keep keeps latest lie living make makes made newest now olds own put puts recent relative since smallest still take takes taken today until versus vs way'
  ).split(' '),
);

/** Words that tell two series apart where nothing else does: they count little. */
const FAINT = 0.25;
const FAINT_WORDS = new Set(
  'rate ratio share percent percentage number per total index live people person part proportion amount value overall modeled fraction size long term score most more less how coverage penetration access sector'
    .split(' ')
    .map(stemmer),
);

export const weightOf = (stem: string): number => (FAINT_WORDS.has(stem) ? FAINT : 1);

/** The words of a text as it is written. `CO₂` gives `co2`, `R&D` gives `r d`, `women’s` gives `women`. */
export const splitWords = (text: string): string[] =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/['’]s?\b/g, '')
    .replace(/(\d),(?=\d{3}\b)/g, '$1')
    .replaceAll('%', ' percent ')
    .replaceAll('$', ' dollars ')
    .replace(/\bnon[ -](?=\p{L})/gu, 'non')
    .replace(/\b(\d+)s\b/g, '$1')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');

/** A word of a phrase as it was said, and the stems that stand for it: several where a phrase means several words. */
export interface ReadWord {
  said: string;
  stems: readonly string[];
}

const STEMS_MAX = 50_000;

export class WordReader {
  /** Stems by what is said, words joined by a space. */
  readonly #meanings = new Map<string, readonly string[]>();
  /** The most words of a phrase by its first word. */
  readonly #longest = new Map<string, number>();

  readonly #stems = new Map<string, readonly string[]>();
  /** All words and phrases that mean others. */
  readonly said: readonly string[];

  constructor(rows: readonly SearchWords[]) {
    this.said = rows.flatMap(({ said }) => said);
    for (const { means, said } of rows) {
      const stems = splitWords(means).map(stemmer);
      for (const phrase of [means, ...said]) {
        const words = splitWords(phrase);
        const [first = ''] = words;
        const key = words.join(' ');
        if (phrase !== means || !this.#meanings.has(key)) this.#meanings.set(key, stems);
        this.#longest.set(first, Math.max(words.length, this.#longest.get(first) ?? 0));
      }
    }
  }

  /** The words that say something, in their order. */
  read(text: string): ReadWord[] {
    const words = splitWords(text);
    const found: ReadWord[] = [];
    for (let at = 0; at < words.length; ) {
      const { length, stems } = this.#meaningAt(words, at);
      if (stems.length > 0) found.push({ said: words.slice(at, at + length).join(' '), stems });
      at += length;
    }
    return found;
  }

  stems(text: string): string[] {
    return [...new Set(this.read(text).flatMap(({ stems }) => stems))];
  }

  /** Those of each word by itself: “child mortality” has mortality. */
  stemsApart(text: string): string[] {
    return splitWords(text).flatMap((word) => this.#meaningAt([word], 0).stems);
  }

  /** Stems are kept, as many as a large catalogue has words. */
  #plainStems(word: string): readonly string[] {
    const known = this.#stems.get(word);
    if (known !== undefined) return known;
    const stems = STOP_WORDS.has(word) ? [] : [stemmer(word)];
    if (this.#stems.size < STEMS_MAX) this.#stems.set(word, stems);
    return stems;
  }

  #meaningAt(words: readonly string[], at: number): { length: number; stems: readonly string[] } {
    const word = words[at] ?? '';
    const longest = Math.min(this.#longest.get(word) ?? 0, words.length - at);
    for (let length = longest; length > 0; length -= 1) {
      const stems = this.#meanings.get(length === 1 ? word : words.slice(at, at + length).join(' '));
      if (stems !== undefined) return { length, stems };
    }
    return { length: 1, stems: this.#plainStems(word) };
  }
}
