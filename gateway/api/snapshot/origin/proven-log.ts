/**
 * Proves the log of an origin: by the signature of its checkpoint, its root, and the log that was seen before; then what
 * it says beyond its leaves, by the manifests whose hashes the leaves hold.
 */
import { editionLeaf, MerkleTree } from '../../../../data/proofs/merkle-tree.ts';
import { type LogKey, Refused, readCheckpoint } from '../../../../data/proofs/verify-receipt.ts';
import { contradictedEntry, type ManifestFacts } from '../../../../data/schema/editions.ts';
import { type LogEntry, type PublicationLog, publicationLog } from '../../../../data/schema/snapshot.ts';
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
  const head = headOf(checkpoint, keys);
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

function headOf(checkpoint: string, keys: readonly LogKey[]) {
  try {
    return readCheckpoint(checkpoint, keys);
  } catch (error) {
    if (error instanceof Refused) throw new OriginError(`log.json: ${error.message}`);
    throw error;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
