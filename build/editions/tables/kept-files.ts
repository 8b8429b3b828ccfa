/** Renders the kept files of JSON. None holds a time, so equal data give equal files. */
import { z } from 'zod';
import type { IndicatorAlias } from '../../../data/schema/curated.ts';
import type { CountryRecord, RelatedEntry, TopicRecord } from '../../../data/schema/records.ts';
import {
  ADDITION_WORDS,
  ADDITIONS,
  type Additions,
  ALIASES,
  additionFile,
  COUNTRIES,
  catalogueFile,
  type IndexedIndicator,
  providerCatalogue,
  relations,
  relationsFile,
  TOPICS,
  termsFile,
  type VanishedIndicator,
} from '../../../data/schema/snapshot.ts';
import type { SnapshotFile } from './file-writer.ts';

export interface KeptData {
  topics: readonly TopicRecord[];
  countries: readonly CountryRecord[];
  indicators: readonly IndexedIndicator[];
  related: ReadonlyMap<string, RelatedEntry[]>;
  additions: Additions;
  /** By provider. */
  vanished: ReadonlyMap<string, VanishedIndicator[]>;
  aliases: readonly IndicatorAlias[];
}

export function* renderKept(data: KeptData): Generator<SnapshotFile, void, undefined> {
  const { topics, countries, indicators, related, additions, vanished, aliases } = data;
  yield keptFile(COUNTRIES, countries);
  yield keptFile(TOPICS, topics);
  yield keptFile(ALIASES, aliases);
  const byId = indicators.toSorted((a, b) => (a.record.id < b.record.id ? -1 : 1));
  for (const [provider, own] of Map.groupBy(byId, ({ record }) => record.provider.id)) {
    yield keptFile(catalogueFile(provider), providerCatalogue.parse(own));
    const ids = own.map(({ record }) => record.id);
    yield keptFile(relationsFile(provider), relations.parse(listsOf(ids, related)));
    for (const word of ADDITION_WORDS) {
      const lists = z.record(z.string(), ADDITIONS[word]).parse(listsOf(ids, additions[word]));
      yield keptFile(additionFile(word, provider), lists);
    }
  }
  for (const [provider, own] of vanished) yield keptFile(termsFile(provider), own);
}

export const keptFile = (path: string, content: unknown): SnapshotFile => ({
  path,
  content: JSON.stringify(content),
  isKept: true,
});

/** The lists of some indicators by id; empty ones are left out. */
function listsOf(
  ids: readonly string[],
  lists: ReadonlyMap<string, readonly unknown[]>,
): Record<string, readonly unknown[]> {
  return Object.fromEntries(
    ids.flatMap((id) => {
      const list = lists.get(id);
      return list === undefined || list.length === 0 ? [] : [[id, list]];
    }),
  );
}
