/** The log of all editions, its signed head and the public keys. A file is read again when it changed. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { editionLeaf, MerkleTree } from '../../../../data/proofs/merkle-tree.ts';
import { readCheckpoint } from '../../../../data/proofs/verify-receipt.ts';
import { PUBLISHED_KEYS } from '../../../../data/schema/proofs.ts';
import {
  type LogEntry,
  PUBLICATION_LOG,
  type PublicationLog,
  publicationLog,
} from '../../../../data/schema/snapshot.ts';
import { SnapshotUnreadable } from './snapshot-files.ts';

export interface SignedHead {
  checkpoint: string;
  /** Those that the checkpoint covers. */
  entries: readonly LogEntry[];
  /** Over them. */
  tree: MerkleTree;
}

const NO_LOG: PublicationLog = { editions: [], checkpoint: '', rollbacks: [] };

export class PublicationLogFile {
  readonly #directory: string;
  #log = NO_LOG;
  #head: SignedHead | null = null;
  #stamp = '';
  #error: Error | null = null;

  /** @param directory of the snapshots. */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** In the order in which they were added. Those read last while the file cannot be read. */
  get entries(): readonly LogEntry[] {
    return this.#log.editions;
  }

  /** Of the same log. */
  get rollbacks(): PublicationLog['rollbacks'] {
    return this.#log.rollbacks;
  }

  /** Why the file could not be read last time; null if it could. */
  get error(): Error | null {
    return this.#error;
  }

  /** Reads the file if it changed. Never rejects. */
  async check(): Promise<void> {
    try {
      const path = join(this.#directory, PUBLICATION_LOG);
      const { size, mtimeMs, ino } = await stat(path);
      const stamp = `${size} ${mtimeMs} ${ino}`;
      if (stamp === this.#stamp) return;
      this.#log = publicationLog.parse(JSON.parse(await readFile(path, 'utf8')));
      this.#head = null;
      this.#stamp = stamp;
      this.#error = null;
    } catch (error) {
      this.#stamp = '';
      this.#error = error instanceof Error ? error : new Error(String(error));
    }
  }

  /** As it is signed now. @throws {SnapshotUnreadable} while there is no signed log. */
  async head(): Promise<SignedHead> {
    await this.check();
    if (this.#error !== null) unreadable(this.#error);
    try {
      this.#head ??= headOf(this.#log);
      return this.#head;
    } catch (error) {
      return unreadable(error);
    }
  }

  /** `keys.json`. @throws {SnapshotUnreadable} while there is none. */
  keys(): Promise<Buffer> {
    return readFile(join(this.#directory, PUBLISHED_KEYS)).catch(unreadable);
  }
}

function headOf({ editions, checkpoint }: PublicationLog): SignedHead {
  const { size, root } = readCheckpoint(checkpoint, null);
  const entries = editions.slice(0, size);
  const tree = MerkleTree.of(entries.map(editionLeaf));
  if (!tree.root.equals(root)) throw new Error('the log is not the one that was signed');
  return { checkpoint, entries, tree };
}

function unreadable(cause: unknown): never {
  throw new SnapshotUnreadable('the signed log cannot be read', { cause });
}
