/** Lists the same-concept links of the served snapshot, for review. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import {
  CATALOGUE,
  CONCEPTS,
  type ConceptLink,
  catalogueIndex,
  conceptLink,
} from '../../data/schema/snapshot.ts';
import { CommandError } from '../runtime/command-error.ts';
import { SnapshotStorage } from './snapshot-storage.ts';

/** A link with the names of both series. */
export interface NamedLink extends ConceptLink {
  a_name: string;
  b_name: string;
}

/** @throws {CommandError} when no snapshot is published. */
export async function publishedConcepts(snapshotDir: string): Promise<NamedLink[]> {
  const served = await new SnapshotStorage(snapshotDir).current();
  if (!served) throw new CommandError('no snapshot is published');
  const read = async (file: string): Promise<unknown> =>
    JSON.parse(await readFile(join(served.directory, file), 'utf8'));
  const links = z.array(conceptLink).parse(await read(CONCEPTS));
  const { indicators } = catalogueIndex.parse(await read(CATALOGUE));
  const names = new Map(
    indicators.map(({ record: { id, name, unit } }) => [id, `${name}${unit ? ` [${unit}]` : ''}`]),
  );
  return links.map((link) => ({
    ...link,
    a_name: names.get(link.a) ?? link.a,
    b_name: names.get(link.b) ?? link.b,
  }));
}
