/**
 * Finds indicators by what people say. A phrase is compared, word by word, with the curated words of each concept and with
 * the name of each series; rare words count more. Where no wording is near, hits are ordered also by how much of the phrase
 * the words of a concept hold together. One series of a concept is found, the preferred one where it is held.
 */
import { fileURLToPath } from 'node:url';
import { stemmer } from 'stemmer';
import { type ConceptWords, loadConceptWords } from '../../../data/curated/concepts.ts';
import { Problems } from '../../../data/curated/table.ts';
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { truncateInput } from '../core/errors.ts';
import type { Catalogue, Edition } from '../snapshot/snapshot.ts';
import { NO_ESTIMATE, type Refusal } from './answer.ts';

export type Match = 'good' | 'weak' | 'none';

export interface Hit {
  record: IndicatorRecord;
  concept: string | null;
  /** Further series of the concept. */
  others: string[];
  /** How near a wording of it is: up to 1, for the very words. */
  score: number;
  /** Orders hits: the score, mixed with what all wordings cover together. */
  rank: number;
}

/** Words without which a phrase means the same. */
const STOP_WORDS = new Set(
  (
    'a an and are as at be been by can country countries data did do does figure figures for from get had has have how ' +
    'in indicator is it its live lives living many much of on or rate ratio share percent percentage number per ' +
    'show statistics that the their there they this to total was were what where which who with world year'
  ).split(' '),
);
/** Stop words that tell two concepts apart where nothing else does: they count little. */
const FAINT_WORDS = new Set('rate ratio share percent number per total live'.split(' ').map(stemmer));
const FAINT = 0.25;

/** From here on a hit is what was asked for, or at least close to it. */
const GOOD = 0.62;
/** A hit of a lower rank has nothing to do with the phrase. */
const WEAK = 0.25;
/** The part of the rank that is coverage. A long phrase is near no single wording, but its words are among those of several. */
const COVERAGE_PART = 1 / 3;
/** A name says less about a concept than the words that were curated for it. */
const NAME_WEIGHT = 0.9;
/** What is only said in a description. */
const DESCRIPTION_WEIGHT = 0.45;

const dataDirectory = fileURLToPath(new URL('../../../data', import.meta.url));

/** The stems of the words of a text, each once. */
function readStems(text: string): string[] {
  const words = text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/['’]s?\b/g, '')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
  const telling = words.filter((word) => !STOP_WORDS.has(word) || FAINT_WORDS.has(stemmer(word)));
  return [...new Set(telling.map(stemmer))];
}

interface Phrase {
  stems: readonly string[];
  /** How much the words of the phrase say about what is asked for. */
  weight: number;
}

/** Something that can be found: a concept with its series, or a series by itself. */
interface Entry {
  concept: string | null;
  records: readonly IndicatorRecord[];
  phrases: readonly Phrase[];
  /** The stems of all phrases. */
  vocabulary: ReadonlySet<string>;
  description: ReadonlySet<string>;
}

class IndicatorSearch {
  readonly #entries: Entry[];
  /** Entries by stem. */
  readonly #byStem = new Map<string, Entry[]>();
  readonly #weights = new Map<string, number>();
  /** Sum over all stems of a phrase. */
  readonly #phraseWeights = new Map<Phrase, number>();

  constructor(catalogue: Catalogue, concepts: readonly ConceptWords[]) {
    this.#entries = buildEntries(catalogue, concepts);
    for (const entry of this.#entries) {
      for (const stem of new Set([...entry.vocabulary, ...entry.description])) {
        const listed = this.#byStem.get(stem);
        if (listed === undefined) this.#byStem.set(stem, [entry]);
        else listed.push(entry);
      }
    }
  }

  /** Best first. @param isWanted leaves out series. */
  find(text: string, limit: number, isWanted: (record: IndicatorRecord) => boolean): Hit[] {
    const asked = readStems(text);
    const found = new Set(asked.flatMap((stem) => this.#byStem.get(stem) ?? []));
    const hits: Hit[] = [];
    for (const entry of found) {
      const [record, ...others] = entry.records.filter(isWanted);
      if (record === undefined) continue;
      const score = this.#score(asked, entry);
      const rank = score + COVERAGE_PART * (this.#covered(asked, entry.vocabulary) - score);
      if (rank >= WEAK)
        hits.push({ record, concept: entry.concept, others: others.map(({ id }) => id), score, rank });
    }
    return hits.toSorted(compareHits).slice(0, limit);
  }

  #score(asked: readonly string[], { phrases, description }: Entry): number {
    const wanted = this.#weightOf(asked);
    let best = 0;
    for (const phrase of phrases) {
      const common = this.#weightOf(asked.filter((stem) => phrase.stems.includes(stem)));
      if (common === 0) continue;
      const whole = this.#phraseWeights.get(phrase) ?? this.#weightOf(phrase.stems);
      this.#phraseWeights.set(phrase, whole);
      best = Math.max(best, (phrase.weight * common) / Math.sqrt(wanted * whole));
    }
    return Math.max(best, DESCRIPTION_WEIGHT * this.#covered(asked, description));
  }

  /** The part of what is asked that these words hold, by weight. */
  #covered(asked: readonly string[], words: ReadonlySet<string>): number {
    return this.#weightOf(asked.filter((stem) => words.has(stem))) / this.#weightOf(asked);
  }

  #weightOf(stems: readonly string[]): number {
    let weight = 0;
    for (const stem of stems) weight += this.#weight(stem);
    return weight;
  }

  /** By how few entries have it; that of stems that none has is not kept. */
  #weight(stem: string): number {
    const known = this.#weights.get(stem);
    if (known !== undefined) return known;
    const held = this.#byStem.get(stem)?.length ?? 0;
    const rarity = Math.log(1 + this.#entries.length / (1 + held));
    const weight = FAINT_WORDS.has(stem) ? FAINT * rarity : rarity;
    if (held > 0) this.#weights.set(stem, weight);
    return weight;
  }
}

/** Equal ranks: concepts first, then what more countries have. */
const compareHits = (a: Hit, b: Hit): number =>
  b.rank - a.rank ||
  Number(b.concept !== null) - Number(a.concept !== null) ||
  (b.record.coverage?.n_countries ?? 0) - (a.record.coverage?.n_countries ?? 0);

function buildEntries(catalogue: Catalogue, concepts: readonly ConceptWords[]): Entry[] {
  const entries: Entry[] = [];
  const seen = new Set<string>();
  for (const { id, name, phrases, series } of concepts) {
    const records = series.flatMap((one) => catalogue.indicators.get(one)?.record ?? []);
    if (records.length === 0) continue;
    for (const record of records) seen.add(record.id);
    const curated = [name, ...phrases].map((text) => ({ stems: readStems(text), weight: 1 }));
    entries.push({
      concept: id,
      records,
      ...worded([...curated, ...records.map(namePhrase)]),
      description: new Set(records.slice(0, 1).flatMap(descriptionStems)),
    });
  }
  for (const { record } of catalogue.indicators.values())
    if (!seen.has(record.id))
      entries.push({
        concept: null,
        records: [record],
        ...worded([namePhrase(record), { stems: readStems(record.id), weight: 1 }]),
        description: new Set(descriptionStems(record)),
      });
  return entries;
}

const worded = (phrases: readonly Phrase[]): Pick<Entry, 'phrases' | 'vocabulary'> => ({
  phrases,
  vocabulary: new Set(phrases.flatMap(({ stems }) => stems)),
});

const namePhrase = ({ name }: IndicatorRecord): Phrase => ({ stems: readStems(name), weight: NAME_WEIGHT });
const descriptionStems = ({ name, description }: IndicatorRecord): string[] =>
  readStems(`${name} ${description ?? ''}`);

export function matchOf(hits: readonly Hit[]): Match {
  const [first] = hits;
  if (first === undefined) return 'none';
  return first.score >= GOOD ? 'good' : 'weak';
}

let concepts: readonly ConceptWords[] | undefined;

/** Read once, when first wanted. */
function conceptWords(): readonly ConceptWords[] {
  if (concepts !== undefined) return concepts;
  const problems = new Problems();
  concepts = loadConceptWords(dataDirectory, problems);
  problems.throwIfAny();
  return concepts;
}

/** The concept of a series, if it is of one. */
export const conceptOf = (indicator: string): ConceptWords | undefined =>
  conceptWords().find(({ series }) => series.includes(indicator));

const searches = new WeakMap<Catalogue, IndicatorSearch>();

/** Made when a catalogue is first searched, which takes a tenth of a second for some thousand series. */
export function searchOf(catalogue: Catalogue): IndicatorSearch {
  const search = searches.get(catalogue) ?? new IndicatorSearch(catalogue, conceptWords());
  searches.set(catalogue, search);
  return search;
}

const SIMILAR_MAX = 3;

/** The indicators that a tool was asked for: those that the edition has, and refusals for the others. */
interface AskedIndicators {
  records: IndicatorRecord[];
  refusals: Refusal[];
}

/** By the ids of today: a former id means what became of it. */
export async function findIndicators(ids: readonly string[], edition: Edition): Promise<AskedIndicators> {
  const records = new Map<string, IndicatorRecord>();
  const refusals: Refusal[] = [];
  for (const asked of ids) {
    const { id } = edition.resolve(asked.trim());
    const entry = await edition.indicator(id);
    if (entry) records.set(entry.record.id, entry.record);
    else refusals.push(await notHeld(asked, edition));
  }
  return { records: [...records.values()], refusals };
}

async function notHeld(asked: string, edition: Edition): Promise<Refusal> {
  const sent = truncateInput(asked);
  const hits = searchOf(await edition.wholeCatalogue()).find(asked, SIMILAR_MAX, () => true);
  const similar_indicators = hits.map(({ record }) => record.id);
  const message =
    `Almanac has no indicator with the id “${sent}”: ids come from find_indicators and are never made up. ` +
    NO_ESTIMATE;
  return { reason: 'not_held', message, indicator: sent, similar_indicators };
}
