/**
 * Proves what an origin says. Its log: by the signature of its checkpoint, its root, and the log that was seen before; what
 * the log says beyond its leaves: by the manifests whose hashes the leaves hold. What is withheld: by its signature, and by
 * what was seen before, because none is taken back.
 */
import { editionLeaf, MerkleTree } from '../../../../data/proofs/merkle-tree.ts';
import { type LogKey, Refused, readCheckpoint } from '../../../../data/proofs/verify-receipt.ts';
import {
  parseWithheld,
  readWithheldNote,
  WITHHELD,
  type WithheldRecord,
} from '../../../../data/runtime/withheld.ts';
import { contradictedEntry, type ManifestFacts } from '../../../../data/schema/editions.ts';
import { type LogEntry, type PublicationLog, publicationLog } from '../../../../data/schema/snapshot.ts';
import { parseJson } from '../files/manifest.ts';
import { OriginError } from './origin-client.ts';

/**
 * @param keys public keys; one of them has signed the checkpoint.
 * @param before editions of the log that was proven last, which this one extends.
 * @throws {OriginError}
 */
export function proveLog(text: string, keys: readonly LogKey[], before: readonly LogEntry[]): PublicationLog {
  const log = publicationLog.safeParse(parseJson(text));
  if (!log.success) throw new OriginError(`log.json: ${log.error.issues[0]?.message}`);
  const { editions, checkpoint } = log.data;
  const head = refusing('log.json', () => readCheckpoint(checkpoint, keys));
  if (head.size !== editions.length)
    throw new OriginError(`log.json: ${editions.length} editions, but its checkpoint is of ${head.size}`);
  const leaves = editions.map(editionLeaf);
  if (!MerkleTree.of(leaves).root.equals(head.root))
    throw new OriginError('log.json: its editions are not those of its checkpoint');
  if (!before.every((entry, index) => editionLeaf(entry) === leaves[index]))
    throw new OriginError(`log.json: it does not extend the log of ${before.length} editions that was seen`);
  return log.data;
}

/**
 * Proves what the entries say beyond their leaves.
 * @param manifests of all editions, by id; each has the hash in its entry.
 * @throws {OriginError}
 */
export function proveEntries(
  editions: readonly LogEntry[],
  manifests: ReadonlyMap<string, ManifestFacts>,
): void {
  const entry = contradictedEntry(editions, manifests);
  if (entry) throw new OriginError(`log.json: its entry of ${entry.edition} contradicts the manifest`);
}

/**
 * @param keys public keys; one of them has signed it.
 * @param before what was proven last.
 * @throws {OriginError}
 */
export function proveWithheld(text: string, keys: readonly LogKey[], before: WithheldRecord): WithheldRecord {
  const record = parseRecord(text);
  const noteOf = (note: string, trusted: readonly LogKey[] | null) =>
    refusing(WITHHELD, () => readWithheldNote(note, trusted));
  if (record.note === undefined) throw new OriginError(`${WITHHELD}: it is not signed`);
  const { signed_at, hash } = noteOf(record.note, keys);
  if (before.note === undefined) return record;
  const seen = noteOf(before.note, null);
  if (signed_at < seen.signed_at)
    throw new OriginError(`${WITHHELD}: signed at ${signed_at}, before the one that was seen`);
  if (signed_at === seen.signed_at && hash !== seen.hash)
    throw new OriginError(`${WITHHELD}: another than the one that was seen, signed at the same time`);
  return record;
}

/** @throws {OriginError} where the file is not signed as it should be. */
function refusing<Read>(file: string, read: () => Read): Read {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refused) throw new OriginError(`${file}: ${error.message}`);
    throw error;
  }
}

function parseRecord(text: string): WithheldRecord {
  try {
    return parseWithheld(text);
  } catch (error) {
    throw new OriginError(
      `${WITHHELD}: it cannot be read: ${error instanceof Error ? error.message : error}`,
    );
  }
}
