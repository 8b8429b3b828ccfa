/**
 * Finds series by the words that people use. One series of a concept is found, the preferred one where it is held, with its
 * twins.
 *
 * Each wording of a series (its name, what its concept is called) is compared with the phrase as a set of stems: the weight
 * of the common ones over the geometric mean of both weights, rare stems weighing more. Unit, brackets and description fill in
 * words that the wording lacks. Only the entries that hold the most of the phrase are compared, so that the costs of a search
 * do not grow with the length of names. A word that no entry has is read as a misspelt one, and the last one as a beginning.
 */
import { stemmer } from 'stemmer';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import type { CatalogueItem } from '../editions/catalogue.ts';
import { asksFor, type Measure, measureOf } from './asked-measure.ts';
import { buildEntries, buildPostings, codesOf, type Entry, type Posting } from './entries.ts';
import { type ReadWord, splitWords, type WordReader, weightOf } from './search-words.ts';
import { typosIn, Vocabulary } from './vocabulary.ts';

export type Match = 'good' | 'weak' | 'none';

export interface SeriesHit {
  record: IndicatorRecord;
  concept: string | null;
  /** Further series of the concept. */
  twins: readonly IndicatorRecord[];
  match: Exclude<Match, 'none'>;
  /** The words of the phrase that it was found by, as they were said, and `code` where it was its code. */
  why: readonly string[];
  rank: number;
}

/** From here on a hit is what was asked for. */
const GOOD = 0.6;
/** So much of the phrase must be held by a good hit. */
const GOOD_COVERED = 0.84;
/** What is also good, where nothing comes near it: its least part of the phrase and rank, and its lead over the next hit. */
const CLEAR = { covered: 0.7, rank: 0.8, lead: 0.1 } as const;
/** A hit of a lower rank has nothing to do with the phrase. */
const WEAK = 0.28;
/** The part of the rank that is coverage. A long phrase is near no single wording, but its words are among those of several. */
const COVERAGE_PART = 1 / 3;
/** How well a stem stands for another one. */
const COMPLETED = 0.9;
const CORRECTED = 0.79;
/** What nobody asked for: series of a part or a change of the subject, of another measure or year. */
const UNASKED = { sex: 0.8, age: 0.88, variant: 0.92, measure: 0.75 } as const;
/** Entries that are compared word by word. */
const COMPARED_MAX = 120;
/** Added to the rank of what is called by the very words. */
const VERBATIM = 0.15;
/** The same for a name whose brackets were not said. */
const VERBATIM_PART = 0.14;
/** What a stem outside a wording adds to it. */
const FILLED = 0.8;
/** What a stem of another wording adds: it may be of another twist of the subject. */
const BORROWED = 0.5;
/** How near an entry is whose words are all in its description. */
const ONLY_DESCRIBED = 0.5;
const NEAREST_MAX = 5;
/** So many letters may be wrong, one in three. */
const NEAREST_STEPS = 3;
const NEAREST_LETTERS = 3;
const BY_CODE = 'code';
/** Words of names have none of these. */
const SIGN = /[._\d]/;
/** Variants that another series of the subject has not. */
const DIVIDING = ['growth', 'per person', 'urban', 'rural', 'nonresident'];
/** Most statistics of work and literacy are of adults: that is the undivided total. */
const ADULTS = '15+';
const AGE_STEMS = [
  'youth',
  'adult',
  'elderli',
  'children',
  'infant',
  'newborn',
  'under5',
  'adolesc',
  'ag',
  'old',
  'pupil',
  'primari',
];

/** One stem of a phrase, with the stems that may be meant and how well each stands for it. */
interface Term {
  said: string;
  meant: ReadonlyMap<string, number>;
  weight: number;
}

export interface FindOptions {
  /** Default: all that are compared. */
  limit?: number;
  /** Whether the last word may be unfinished. */
  isTyping?: boolean;
  /** Years that are asked for: series that have none of them are not what was asked for. */
  years?: readonly number[];
  /** Leaves out series. */
  isWanted?: (record: IndicatorRecord) => boolean;
}

/** What a phrase asks for. */
interface Asked {
  terms: readonly Term[];
  /** Of all its terms. */
  weight: number;
  stems: ReadonlySet<string>;
  measures: ReadonlySet<Measure>;
  /** Its words as they are written, joined. */
  verbatim: string;
  years: readonly number[];
  isWanted: (record: IndicatorRecord) => boolean;
}

interface Judged {
  hit: SeriesHit;
  /** Good, if nothing comes near it. */
  isClear: boolean;
}

export class SeriesSearch {
  readonly #reader: WordReader;
  readonly #entries: readonly Entry[];
  readonly #postings: ReadonlyMap<string, Posting>;
  readonly #byCode: ReadonlyMap<string, IndicatorRecord>;
  readonly #vocabulary: Vocabulary;
  /** Words that mean others. */
  readonly #said: Vocabulary;
  /** With the stems that ask for each. */
  readonly #dividing: readonly { variant: string; stems: readonly string[] }[];

  /** @param concepts what each is called, by id */
  constructor(
    items: Iterable<CatalogueItem>,
    concepts: ReadonlyMap<string, readonly string[]>,
    reader: WordReader,
  ) {
    const all = [...items];
    this.#reader = reader;
    this.#entries = buildEntries(all, concepts, reader);
    this.#postings = buildPostings(this.#entries);
    for (const { wordings } of this.#entries)
      for (const wording of wordings) wording.weight = this.#weightOf(wording.stems);
    this.#byCode = new Map(all.flatMap(({ record }) => codesOf(record).map((code) => [code, record])));
    const called = this.#entries.flatMap(({ concept }) => concepts.get(concept ?? '') ?? []);
    this.#vocabulary = new Vocabulary([...all.map(({ record }) => record.name), ...called], reader);
    this.#said = new Vocabulary(reader.said, reader);
    this.#dividing = DIVIDING.map((variant) => ({ variant, stems: reader.stems(variant) }));
  }

  /** Best first; what is asked for by its code before all. */
  find(
    text: string,
    { limit = COMPARED_MAX, isTyping = false, years = [], isWanted = () => true }: FindOptions,
  ): SeriesHit[] {
    const hits = this.#findByWords(text, { limit, isTyping, years, isWanted });
    const codes = text.split(/[\s,;]+/u).filter((word) => SIGN.test(word));
    // A code that is a plain word counts where the word means nothing else.
    if (hits[0]?.match !== 'good') codes.push(text.trim());
    const coded = new Set(codes.flatMap((code) => this.#byCode.get(code.toLowerCase()) ?? []));
    const byCode = [...coded].filter(isWanted).map((record) => this.#codeHit(record, isWanted));
    const isCoded = ({ record, twins }: SeriesHit): boolean =>
      coded.has(record) || twins.some((twin) => coded.has(twin));
    return [...byCode, ...hits.filter((hit) => !isCoded(hit))].slice(0, limit);
  }

  #codeHit(record: IndicatorRecord, isWanted: (record: IndicatorRecord) => boolean): SeriesHit {
    const entry = this.#entries.find(({ items }) => items.some((item) => item.record === record));
    const all = entry?.items.map((item) => item.record) ?? [];
    const twins = all.filter((one) => one !== record && isWanted(one));
    return { record, concept: entry?.concept ?? null, twins, match: 'good', why: [BY_CODE], rank: 1 };
  }

  #findByWords(text: string, { limit, isTyping, years, isWanted }: Required<FindOptions>): SeriesHit[] {
    const terms = this.#termsOf(text, isTyping);
    const words = splitWords(text);
    const asked: Asked = {
      terms,
      weight: sum(terms, ({ weight }) => weight),
      stems: new Set(terms.flatMap(({ meant }) => [...meant.keys()])),
      measures: asksFor(words),
      verbatim: words.join(' '),
      years,
      isWanted,
    };
    const nearest = this.#nearest(terms, Math.max(limit, COMPARED_MAX), isWanted);
    const judged = nearest.flatMap((entry) => this.#judge(entry, asked) ?? []);
    const [first, ...others] = judged.sort((a, b) => compareHits(a.hit, b.hit)).slice(0, limit + 1);
    if (first === undefined) return [];
    const lead = first.hit.rank - (others[0]?.hit.rank ?? 0);
    const hit = first.isClear && lead >= CLEAR.lead ? { ...first.hit, match: 'good' as const } : first.hit;
    return [hit, ...others.map((other) => other.hit)].slice(0, limit);
  }

  /** Null for an entry that has nothing to do with what is asked for. */
  #judge(entry: Entry, asked: Asked): Judged | null {
    const { terms, weight, years } = asked;
    const records = entry.items.map((item) => item.record).filter(asked.isWanted);
    const [record, ...twins] = firstWithYears(records, years);
    if (record === undefined) return null;
    const isFit = hasYears(record, years) && isMeasured(entry, asked.measures);
    const held = terms.map((term) => holds(entry.held, term));
    const covered = sum(terms, (term, at) => term.weight * (held[at] ?? 0)) / weight;
    const near = Math.max(nearness(asked, held, entry.wordings), ONLY_DESCRIBED * covered);
    const verbatim = entry.wordings.filter(({ text }) => text === asked.verbatim);
    const bonus =
      verbatim.length === 0 ? 0 : verbatim.some(({ isWhole }) => isWhole) ? VERBATIM : VERBATIM_PART;
    const fit = entry.standing * this.#unaskedTraits(entry, asked.stems) * (isFit ? 1 : UNASKED.measure);
    const rank = (near + COVERAGE_PART * (covered - near)) * fit + bonus;
    if (rank < WEAK) return null;
    const why = new Set(terms.filter((_, at) => (held[at] ?? 0) > 0).map(({ said }) => said));
    const match = isFit && near >= GOOD && covered >= GOOD_COVERED ? 'good' : 'weak';
    return {
      hit: { record, concept: entry.concept, twins, match, why: [...why], rank },
      isClear: isFit && covered >= CLEAR.covered && rank >= CLEAR.rank,
    };
  }

  /** Words of names that are spelt most like those of a text that no name has. */
  nearestWords(text: string): string[] {
    const unknown = this.#reader
      .read(text)
      .filter(({ stems }) => !stems.some((stem) => this.#postings.has(stem)));
    const near = unknown.flatMap(({ said }) =>
      this.#vocabulary.like(said, Math.min(NEAREST_STEPS, Math.floor(said.length / NEAREST_LETTERS))),
    );
    return [...new Set(near)].slice(0, NEAREST_MAX);
  }

  #termsOf(text: string, isTyping: boolean): Term[] {
    const words = this.#reader.read(text);
    const terms = new Map<string, Term>();
    for (const [at, word] of words.entries()) {
      const isOpen = isTyping && at === words.length - 1 && !/\s$/.test(text);
      for (const stem of word.stems) if (!terms.has(stem)) terms.set(stem, this.#term(word, stem, isOpen));
    }
    return [...terms.values()];
  }

  #term({ said, stems }: ReadWord, stem: string, isOpen: boolean): Term {
    const meant = new Map<string, number>();
    if (this.#postings.has(stem)) meant.set(stem, 1);
    const add = (words: readonly string[], factor: number): void => {
      for (const word of words) {
        const [one = '', ...others] = this.#reader.stems(word);
        // A part of what several stems mean together would mean something else.
        if (others.length === 0 && !meant.has(one) && this.#postings.has(one)) meant.set(one, factor);
      }
    };
    if (stems.length === 1 && isOpen && said.length > 1) add(this.#vocabulary.startingWith(said), COMPLETED);
    if (meant.size === 0) add(this.#vocabulary.like(said, typosIn(said)), CORRECTED);
    if (meant.size === 0) add(this.#said.like(said, typosIn(said)), CORRECTED);
    const weights = [...meant.keys()].map((one) => this.#weight(one));
    return { said, meant, weight: weights.length === 0 ? this.#weight(stem) : Math.min(...weights) };
  }

  /** The entries of wanted series that hold the most of a phrase. */
  #nearest(terms: readonly Term[], count: number, isWanted: (record: IndicatorRecord) => boolean): Entry[] {
    const covered = new Map<number, number>();
    for (const term of terms)
      for (const [number, held] of this.#holding(term))
        covered.set(
          number,
          (covered.get(number) ?? 0) + term.weight * held * (this.#entries[number]?.standing ?? 1),
        );
    const found = [...covered].filter(([number]) =>
      this.#entries[number]?.items.some(({ record }) => isWanted(record)),
    );
    if (found.length > count) found.sort(([, a], [, b]) => b - a);
    return found.slice(0, count).flatMap(([number]) => this.#entries[number] ?? []);
  }

  /** How well each entry that has it holds a term. */
  #holding({ meant }: Term): ReadonlyMap<number, number> {
    const best = new Map<number, number>();
    for (const [stem, factor] of meant)
      for (const [number, held] of this.#postings.get(stem) ?? [])
        best.set(number, Math.max(held * factor, best.get(number) ?? 0));
    return best;
  }

  #weightOf(stems: Iterable<string>): number {
    return sum([...stems], (stem) => this.#weight(stem));
  }

  /** What the traits of a series cost that nobody asked for. */
  #unaskedTraits({ items: [item] }: Entry, asked: ReadonlySet<string>): number {
    const { sex, age, variants = [] } = item?.traits ?? {};
    const isSexAsked = sex == null || asked.has(stemmer(sex));
    const isAgeAsked =
      age == null ||
      age === ADULTS ||
      AGE_STEMS.some((stem) => asked.has(stem)) ||
      age.split(/\D+/).some((years) => asked.has(years));
    const unasked = this.#dividing.filter(
      ({ variant, stems }) => variants.includes(variant) && !stems.some((stem) => asked.has(stem)),
    );
    return (
      (isSexAsked ? 1 : UNASKED.sex) * (isAgeAsked ? 1 : UNASKED.age) * UNASKED.variant ** unasked.length
    );
  }

  /** By how few entries have it. */
  #weight(stem: string): number {
    const held = this.#postings.get(stem)?.length ?? 0;
    return weightOf(stem) * Math.log(1 + this.#entries.length / (1 + held));
  }
}

const sum = <Item>(items: readonly Item[], measure: (item: Item, at: number) => number): number =>
  items.reduce((total, item, at) => total + measure(item, at), 0);

/** How well a term is held, 0 to 1. */
function holds(held: ReadonlyMap<string, number>, { meant }: Term): number {
  let best = 0;
  for (const [stem, factor] of meant) best = Math.max(best, (held.get(stem) ?? 0) * factor);
  return best;
}

const filling = (held: number): number => held * (held >= COMPLETED ? BORROWED : FILLED);

/** How near the nearest wording is, up to 1 for the very words. @param held how well the entry holds each term */
function nearness(
  { terms, weight: wanted }: Asked,
  held: readonly number[],
  wordings: Entry['wordings'],
): number {
  let best = 0;
  for (const { stems, weight } of wordings) {
    let [common, filled] = [0, 0];
    for (const [at, term] of terms.entries()) {
      let own = 0;
      for (const [stem, factor] of term.meant) if (stems.has(stem)) own = Math.max(own, factor);
      if (own > 0) common += own * term.weight;
      else filled += filling(held[at] ?? 0) * term.weight;
    }
    if (common > 0) best = Math.max(best, (common + filled) / Math.sqrt(wanted * (weight + filled)));
  }
  return best;
}

const isMeasured = ({ items: [item] }: Entry, asked: ReadonlySet<Measure>): boolean =>
  asked.size === 0 || item === undefined || asked.has(measureOf(item.record.unit ?? ''));

const hasYears = ({ coverage }: IndicatorRecord, years: readonly number[]): boolean =>
  years.length === 0 ||
  years.some((year) => (coverage?.yr_min ?? Infinity) <= year && year <= (coverage?.yr_max ?? -Infinity));

/** Those first that have one of the years. */
const firstWithYears = (records: IndicatorRecord[], years: readonly number[]): IndicatorRecord[] =>
  records.toSorted((a, b) => Number(hasYears(b, years)) - Number(hasYears(a, years)));

/** Equal ranks: what was featured, then what more countries have. */
const compareHits = (a: SeriesHit, b: SeriesHit): number =>
  b.rank - a.rank ||
  Number(b.record.featured) - Number(a.record.featured) ||
  (b.record.coverage?.n_countries ?? 0) - (a.record.coverage?.n_countries ?? 0);
