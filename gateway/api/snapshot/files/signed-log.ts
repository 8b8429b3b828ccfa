/** The signed head of the log, its tree and the public keys. The files are read again when they changed. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { editionLeaf, MerkleTree } from '../../../../data/proofs/merkle-tree.ts';
import { readCheckpoint } from '../../../../data/proofs/verify-receipt.ts';
import { PUBLISHED_KEYS } from '../../../../data/schema/proofs.ts';
import { type LogEntry, PUBLICATION_LOG, publicationLog } from '../../../../data/schema/snapshot.ts';
import { SnapshotUnreadable } from './objects.ts';

export interface SignedHead {
  checkpoint: string;
  /** Those that the checkpoint covers. */
  entries: readonly LogEntry[];
  /** Over them. */
  tree: MerkleTree;
}

export class SignedLog {
  readonly #directory: string;
  #head: { stamp: string; reading: Promise<SignedHead> } | null = null;

  /** @param directory of the snapshots. */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** @throws {SnapshotUnreadable} while there is no signed log. */
  async head(): Promise<SignedHead> {
    const path = join(this.#directory, PUBLICATION_LOG);
    const { size, mtimeMs, ino } = await stat(path).catch(unreadable);
    const stamp = `${size} ${mtimeMs} ${ino}`;
    if (this.#head?.stamp !== stamp) this.#head = { stamp, reading: readHead(path).catch(unreadable) };
    return this.#head.reading;
  }

  /** `keys.json`. @throws {SnapshotUnreadable} while there is none. */
  keys(): Promise<Buffer> {
    return readFile(join(this.#directory, PUBLISHED_KEYS)).catch(unreadable);
  }
}

async function readHead(path: string): Promise<SignedHead> {
  const { editions, checkpoint } = publicationLog.parse(JSON.parse(await readFile(path, 'utf8')));
  const { size, root } = readCheckpoint(checkpoint, null);
  const entries = editions.slice(0, size);
  const tree = MerkleTree.of(entries.map(editionLeaf));
  if (!tree.root.equals(root)) throw new Error('the log is not the one that was signed');
  return { checkpoint, entries, tree };
}

function unreadable(cause: unknown): never {
  throw new SnapshotUnreadable('the signed log cannot be read', { cause });
}
