/**
 * What `include` adds to indicator records, as JSON text in memory. Equal lists share one text: the series of a provider
 * have few different sources.
 */
import { z } from 'zod';
import { ADDITION_WORDS, type AdditionWord, additionFile } from '../../data/schema/additions.ts';
import type { SnapshotFiles } from './snapshot-files.ts';

const listsById = z.record(z.string(), z.array(z.unknown()));

export class AddedLists {
  readonly #byWord: ReadonlyMap<AdditionWord, ReadonlyMap<string, string>>;

  private constructor(byWord: ReadonlyMap<AdditionWord, ReadonlyMap<string, string>>) {
    this.#byWord = byWord;
  }

  /** Reads the files; a snapshot of an earlier version lacks them. @throws {ZodError} for an unknown shape. */
  static async open(files: SnapshotFiles): Promise<AddedLists> {
    const texts = new Map<string, string>();
    const shared = (list: unknown[]): string => {
      const text = JSON.stringify(list);
      texts.set(text, texts.get(text) ?? text);
      return texts.get(text) ?? text;
    };
    const byWord = new Map<AdditionWord, ReadonlyMap<string, string>>();
    for (const word of ADDITION_WORDS.filter((one) => files.sizeOf(additionFile(one)) > 0)) {
      const file = await files.read(additionFile(word));
      const lists = Object.entries(listsById.parse(JSON.parse(file.toString())));
      byWord.set(word, new Map(lists.map(([id, list]) => [id, shared(list)])));
    }
    return new AddedLists(byWord);
  }

  /** The JSON text of an indicator's list. */
  json(word: AdditionWord, id: string): string {
    return this.#byWord.get(word)?.get(id) ?? '[]';
  }
}
