/** Reads the manifest of a snapshot. */
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readWithheld, WITHHELD, withReplacedLists } from '../../../../data/runtime/withheld.ts';
import { type Manifest, manifestPath, manifest as manifestSchema } from '../../../../data/schema/snapshot.ts';

/** A snapshot that must not be served; the message names the file and the reason. */
export class SnapshotDamaged extends Error {
  override name = 'SnapshotDamaged';
}

/**
 * The manifest, with the lists to read where series were withheld.
 * @param sha256 its hash, where the log lists it. @throws {SnapshotDamaged}
 */
export async function readManifest(directory: string, id: string, sha256?: string): Promise<Manifest> {
  const bytes = await readFile(join(directory, manifestPath(id))).catch((error: Error) => {
    throw new SnapshotDamaged(`no manifest: ${error.message}`);
  });
  if (sha256 !== undefined && hash('sha256', bytes) !== sha256)
    throw new SnapshotDamaged('the manifest has another content than published');
  const parsed = manifestSchema.safeParse(parseJson(bytes.toString()));
  if (!parsed.success) throw new SnapshotDamaged(`bad manifest: ${parsed.error.issues[0]?.message}`);
  if (parsed.data.id !== id) throw new SnapshotDamaged(`the manifest is of ${parsed.data.id}`);
  const withheld = await readWithheld(directory).catch((error: Error) => {
    throw new SnapshotDamaged(`bad ${WITHHELD}: ${error.message}`);
  });
  return withReplacedLists(parsed.data, withheld);
}

/** Undefined for a text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
