/**
 * Which indicators an edition describes otherwise than the edition before: another name, unit or definition. An indicator
 * that comes back is compared with what it was when it went.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unpackJson } from '../../../data/runtime/durable-files.ts';
import { type Redefinition, redefinitionOf } from '../../../data/schema/records.ts';
import {
  catalogueFile,
  type EditionChanges,
  type FileList,
  providerCatalogue,
  providerOf,
} from '../../../data/schema/snapshot.ts';
import type { Published, SnapshotStorage } from '../snapshot-storage.ts';

type Catalogue = ReadonlyMap<string, Parameters<typeof redefinitionOf>[0]>;

export interface DescribedEditions {
  storage: SnapshotStorage;
  base: Published;
  /** The files of the edition, under their names in `directory`. */
  kept: FileList;
  directory: string;
  changes: Pick<EditionChanges, 'added' | 'renamed'>;
  /** The newest edition that had an indicator which is new in this one; null where none had. */
  lastWith(indicator: string): Promise<{ edition: Published; id: string } | null>;
}

/** By id. */
export async function findRedefined(editions: DescribedEditions): Promise<Redefinition[]> {
  const { storage, base, kept, directory, changes, lastWith } = editions;
  const oldIds = new Map(changes.renamed.map(({ from, to }) => [to, from]));
  const published = publishedCatalogues(storage);
  const found: Redefinition[] = [];
  for (const provider of new Set(Object.keys(kept).flatMap((name) => CATALOGUE.exec(name)?.[1] ?? []))) {
    const file = catalogueFile(provider);
    if (base.kept[file]?.sha256 === kept[file]?.sha256) continue;
    const now = parseCatalogue(unpackJson(await readFile(join(directory, file))));
    for (const [id, record] of now) {
      const last = changes.added.includes(id)
        ? await lastWith(id)
        : { edition: base, id: oldIds.get(id) ?? id };
      const before = last && (await published(last.edition, providerOf(last.id))).get(last.id);
      const redefinition = before && redefinitionOf(before, record);
      if (redefinition) found.push(redefinition);
    }
  }
  return found.sort((a, b) => (a.indicator < b.indicator ? -1 : 1));
}

const CATALOGUE = /^catalogue\/(.*)\.json$/;

function parseCatalogue(text: string): Catalogue {
  return new Map(providerCatalogue.parse(JSON.parse(text)).map(({ record }) => [record.id, record]));
}

/** Reads each catalogue once. */
function publishedCatalogues(storage: SnapshotStorage) {
  const read = new Map<string, Promise<Catalogue>>();
  return ({ kept }: Published, provider: string): Promise<Catalogue> => {
    const ref = kept[catalogueFile(provider)];
    if (ref === undefined) return Promise.resolve(new Map());
    const known = read.get(ref.sha256) ?? storage.readText(ref).then(parseCatalogue);
    read.set(ref.sha256, known);
    return known;
  };
}
