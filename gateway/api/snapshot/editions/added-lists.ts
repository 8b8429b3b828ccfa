/**
 * What `include` adds to indicator records, as JSON text. The lists of a provider are read when they are first asked for.
 * Equal lists share one text: the series of a provider have few different sources.
 */

import type { IndicatorSource, IndicatorTwin } from '../../../../data/schema/records.ts';
import { type AdditionWord, additionFile, providerOf } from '../../../../data/schema/snapshot.ts';
import type { SnapshotFiles } from '../files/snapshot-files.ts';
import type { LoadedLists } from './edition.ts';
import type { Terms, TodaysTerms } from './todays-terms.ts';

/** JSON texts by indicator. */
type ListTexts = ReadonlyMap<string, string>;

const NONE: ListTexts = new Map();

export class AddedLists {
  readonly #files: SnapshotFiles;
  readonly #byFile = new Map<string, ListTexts>();

  constructor(files: SnapshotFiles) {
    this.#files = files;
  }

  /** Reads the lists of some indicators. @throws {SnapshotUnreadable} */
  async load(words: readonly AdditionWord[], ids: Iterable<string>): Promise<LoadedLists> {
    const providers = new Set([...ids].map(providerOf));
    for (const provider of providers) {
      for (const word of words) await this.#load(additionFile(word, provider));
    }
    return {
      json: (word, id) => this.#byFile.get(additionFile(word, providerOf(id)))?.get(id) ?? '[]',
    };
  }

  async #load(name: string): Promise<void> {
    if (this.#byFile.has(name)) return;
    this.#byFile.set(name, (await this.#files.shared(name, 'texts', listTexts)) ?? NONE);
  }
}

function listTexts(json: string): ListTexts {
  const texts = new Map<string, string>();
  const shared = (list: unknown): string => {
    const text = JSON.stringify(list);
    texts.set(text, texts.get(text) ?? text);
    return texts.get(text) ?? text;
  };
  const lists: Record<string, unknown[]> = JSON.parse(json);
  return new Map(Object.entries(lists).map(([id, list]) => [id, shared(list)]));
}

/** The lists of an edition that is not served, under today's terms. @param own the lists of the edition. */
export async function governedLists(
  own: LoadedLists,
  words: readonly AdditionWord[],
  ids: readonly string[],
  today: TodaysTerms,
): Promise<LoadedLists> {
  const served = await today.served.additions(words, ids);
  const texts = new Map<string, string>();
  for (const id of ids) {
    if (words.includes('sources')) texts.set(`sources ${id}`, await sourcesOf(id, own, served, today));
    if (words.includes('twins')) texts.set(`twins ${id}`, await twinsOf(id, own, today));
  }
  return { json: (word, id) => texts.get(`${word} ${id}`) ?? own.json(word, id) };
}

/** Today's sources; of an indicator that upstream no longer has, those whose licence still is the indicator's. */
async function sourcesOf(
  id: string,
  own: LoadedLists,
  served: LoadedLists,
  today: TodaysTerms,
): Promise<string> {
  if (today.served.indicator(id) !== undefined) return served.json('sources', id);
  const terms = await today.of(id);
  const sources: IndicatorSource[] = JSON.parse(own.json('sources', id));
  return JSON.stringify(sources.filter(({ licence }) => licence === terms?.licence));
}

/** The twins that may be published, with their licence. Figures of display-only series are left out. */
async function twinsOf(id: string, own: LoadedLists, today: TodaysTerms): Promise<string> {
  const isOpen = (terms: Terms | undefined): boolean => terms?.access_tier === 'open';
  const isOwnOpen = isOpen(await today.of(id));
  const twins: IndicatorTwin[] = [];
  for (const twin of JSON.parse(own.json('twins', id)) as IndicatorTwin[]) {
    const terms = await today.of(twin.id);
    if (terms === undefined) continue;
    const difference = isOwnOpen && isOpen(terms) ? twin.difference : null;
    twins.push({ ...twin, id: today.idOf(twin.id), licence: terms.licence, difference });
  }
  return JSON.stringify(twins);
}
