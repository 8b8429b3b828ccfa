/** Renders the kept files that are not Parquet. None holds a time, so equal data give equal files. */
import { z } from 'zod';
import { ADDITION_WORDS, ADDITIONS, type Additions, additionFile } from '../../data/schema/additions.ts';
import type { IndicatorAlias } from '../../data/schema/curated.ts';
import type { CountryRecord, RelatedEntry, TopicRecord } from '../../data/schema/records.ts';
import {
  ALIASES,
  COUNTRIES,
  catalogueFile,
  type IndexedIndicator,
  providerCatalogue,
  relations,
  relationsFile,
  TOPICS,
  termsFile,
  type VanishedIndicator,
} from '../../data/schema/snapshot.ts';
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
  yield { path: COUNTRIES, content: JSON.stringify(countries) };
  yield { path: TOPICS, content: JSON.stringify(topics) };
  yield { path: ALIASES, content: JSON.stringify(aliases) };
  const byId = indicators.toSorted((a, b) => (a.record.id < b.record.id ? -1 : 1));
  for (const [provider, own] of Map.groupBy(byId, ({ record }) => record.provider.id)) {
    yield { path: catalogueFile(provider), content: JSON.stringify(providerCatalogue.parse(own)) };
    const ids = own.map(({ record }) => record.id);
    const links = relations.parse(listsOf(ids, related));
    yield { path: relationsFile(provider), content: JSON.stringify(links) };
    for (const word of ADDITION_WORDS) {
      const lists = z.record(z.string(), ADDITIONS[word]).parse(listsOf(ids, additions[word]));
      yield { path: additionFile(word, provider), content: JSON.stringify(lists) };
    }
  }
  for (const [provider, own] of vanished) yield { path: termsFile(provider), content: JSON.stringify(own) };
}

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
