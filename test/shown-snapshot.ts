/** A published snapshot for tests that read its files: the stored files under their names. */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Published, SnapshotStorage } from '../build/editions/snapshot-storage.ts';
import { unpackJson } from '../data/runtime/durable-files.ts';
import type { CountryRecord, TopicRecord } from '../data/schema/records.ts';
import {
  COUNTRIES,
  compareByName,
  type FileList,
  providerCatalogue,
  TOPICS,
} from '../data/schema/snapshot.ts';

export interface Shown extends Published {
  /** Kept and prerendered. */
  files: FileList;
  /** Holds the files by hard links, beside the directory of snapshots. */
  directory: string;
}

/** @param id the served snapshot by default */
export async function showSnapshot(snapshots: string, id?: string): Promise<Shown> {
  const storage = new SnapshotStorage(snapshots);
  const published = await storage.open(id ?? (await storage.currentId()) ?? 'none');
  const files = { ...published.kept, ...(await storage.prerendered(published)) };
  const directory = join(`${snapshots}-shown`, published.id);
  await rm(directory, { recursive: true, force: true });
  await storage.show(files, directory);
  return { ...published, files, directory };
}

/** A kept file of JSON. */
export const readKept = async ({ directory }: Pick<Shown, 'directory'>, name: string) =>
  JSON.parse(unpackJson(await readFile(join(directory, name))));

/** Countries and indicators come ordered by name. */
export type CatalogueIndex = Awaited<ReturnType<typeof readCatalogue>>;

export async function readCatalogue({ directory, manifest }: Shown) {
  const read = (name: string) => readKept({ directory }, name);
  const names = await readdir(join(directory, 'catalogue'));
  const lists = await Promise.all(names.map((name) => read(`catalogue/${name}`)));
  return {
    generated_at: manifest.generated_at,
    topics: (await read(TOPICS)) as TopicRecord[],
    countries: (await read(COUNTRIES)) as CountryRecord[],
    indicators: lists
      .flatMap((list) => providerCatalogue.parse(list))
      .sort((a, b) => compareByName(a.record, b.record)),
  };
}
