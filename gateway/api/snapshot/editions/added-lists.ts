/**
 * What `include` adds to indicator records, as JSON text. The lists of a provider are read when they are first asked for.
 * Equal lists share one text: the series of a provider have few different sources.
 */
import { type AdditionWord, additionFile, providerOf } from '../../../../data/schema/snapshot.ts';
import type { SnapshotFiles } from '../files/snapshot-files.ts';

/** JSON texts by indicator. */
export type ListTexts = ReadonlyMap<string, string>;

/** The lists that one answer needs. */
export interface LoadedLists {
  /** The JSON text of an indicator's list. */
  json(word: AdditionWord, id: string): string;
}

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
