/** The objects that editions name. */
import { readFile } from 'node:fs/promises';
import { editionChanges, type FileRef, type LogEntry } from '../../data/schema/snapshot.ts';
import type { SnapshotStorage } from './snapshot-storage.ts';

/**
 * Everything that the kept lists of the editions name, and what the prerendered lists of some of them name.
 * @param prerendered ids of editions whose prerendered files count, too, where they were not removed.
 * @throws {Error} when a manifest or a list cannot be read.
 */
export async function namedObjects(
  storage: SnapshotStorage,
  editions: readonly LogEntry[],
  prerendered: ReadonlySet<string>,
): Promise<Map<string, FileRef>> {
  const named = new Map<string, FileRef>();
  const add = (ref: FileRef): void => void named.set(ref.sha256, ref);
  const addList = async (ref: FileRef): Promise<void> => {
    if (named.has(ref.sha256)) return;
    add(ref);
    for (const file of Object.values(await storage.readList(ref))) add(file);
  };
  for (const { edition, changes } of editions) {
    const { manifest } = await storage.open(edition);
    for (const ref of Object.values(manifest.providers)) await addList(ref);
    for (const file of Object.values(manifest.kept)) add(file);
    if (prerendered.has(edition)) {
      const files = await storage.prerendered({ manifest });
      if (files !== null) [manifest.prerendered, ...Object.values(files)].forEach(add);
    }
    if (changes === null || named.has(changes.sha256)) continue;
    add(changes);
    const { revised } = editionChanges.parse(JSON.parse(await readFile(storage.pathOf(changes), 'utf8')));
    for (const { file } of Object.values(revised)) add(file);
  }
  return named;
}
