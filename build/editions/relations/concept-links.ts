/** Lists the same-concept links of the served snapshot, for review. */
import { z } from 'zod';
import {
  CONCEPTS,
  type ConceptLink,
  catalogueFile,
  conceptLink,
  type FileRef,
  providerCatalogue,
} from '../../../data/schema/snapshot.ts';
import { CommandError } from '../../runtime/errors.ts';
import { SnapshotStorage } from '../snapshot-storage.ts';

/** A link with the names of both series. */
export interface NamedLink extends ConceptLink {
  a_name: string;
  b_name: string;
}

/** @throws {CommandError} when no snapshot is published. */
export async function publishedConcepts(snapshotDir: string): Promise<NamedLink[]> {
  const storage = new SnapshotStorage(snapshotDir);
  const served = await storage.current();
  const prerendered = served && (await storage.prerendered(served));
  if (!served || !prerendered) throw new CommandError('no snapshot is published');
  const read = async (ref: FileRef | undefined): Promise<unknown> =>
    ref ? JSON.parse(await storage.readText(ref)) : [];
  const links = z.array(conceptLink).parse(await read(prerendered[CONCEPTS]));
  const providers = Object.keys(served.manifest.providers);
  const catalogued = await Promise.all(providers.map((id) => read(served.kept[catalogueFile(id)])));
  const names = new Map(
    catalogued
      .flatMap((list) => providerCatalogue.parse(list))
      .map(({ record: { id, name, unit } }) => [id, `${name}${unit ? ` [${unit}]` : ''}`]),
  );
  return links.map((link) => ({
    ...link,
    a_name: names.get(link.a) ?? link.a,
    b_name: names.get(link.b) ?? link.b,
  }));
}
