/** The served snapshot as a build sees it: the edition with which the new one is compared. */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { hashFile, unpackJson } from '../../data/runtime/durable-files.ts';
import {
  type FileList,
  type FileRef,
  type IndexedIndicator,
  providerCatalogue,
} from '../../data/schema/snapshot.ts';
import type { Published, SnapshotStorage } from './snapshot-storage.ts';

const BEFORE = '.before';

export interface BaseEdition extends Published {
  /** Holds its files under their names, but for those below `routes/`. */
  directory: string;
  /** Its prerendered files there. */
  tables: FileList;
}

/** Whether a file has the same inputs and still matches its manifest, so that a damaged one is written again. */
export async function isReusable(
  { directory }: Pick<BaseEdition, 'directory'>,
  file: string,
  known: FileRef | undefined,
  inputs: string,
): Promise<boolean> {
  if (known?.inputs !== inputs) return false;
  const actual = await hashFile(join(directory, file)).catch(() => null);
  return actual?.sha256 === known.sha256;
}

/** Shows the served snapshot below the directory of a build; null when there is none or it cannot be read. */
export async function showBase(storage: SnapshotStorage, building: string): Promise<BaseEdition | null> {
  const published = await storage.current();
  if (published === null) return null;
  const prerendered = (await storage.prerendered(published)) ?? {};
  const tables: FileList = Object.fromEntries(
    Object.entries(prerendered).filter(([name]) => !name.startsWith('routes/')),
  );
  const directory = join(building, BEFORE);
  await rm(directory, { recursive: true, force: true });
  await storage.show({ ...published.kept, ...tables }, directory);
  return { ...published, directory, tables };
}

/** The catalogue of all providers. */
export const baseCatalogue = ({ directory }: BaseEdition): Promise<IndexedIndicator[]> =>
  readLists(join(directory, 'catalogue'), providerCatalogue);

/** The lists of all files in a folder, joined. */
async function readLists<Item>(folder: string, schema: z.ZodType<Item[]>): Promise<Item[]> {
  const names = await readdir(folder).catch(() => []);
  const files = await Promise.all(names.map((name) => readFile(join(folder, name))));
  return files.flatMap((bytes) => schema.parse(JSON.parse(unpackJson(bytes))));
}
