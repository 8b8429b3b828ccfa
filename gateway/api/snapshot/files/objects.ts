/**
 * The published files by content. A file that is read whole is verified by its hash; others are verified by the scrub,
 * or when reading them fails. No answer is made from a file that is known to have another content than published.
 */
import { createHash, hash } from 'node:crypto';
import { type FileHandle, open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type FileRef, objectPath } from '../../../../data/schema/snapshot.ts';

/** A file cannot be read as it was published: a transient fault, reported as `unavailable`. */
export class SnapshotUnreadable extends Error {
  override name = 'SnapshotUnreadable';
}

/** What tells whether a file was replaced: size, time and place. */
type Stamp = string;

const BLOCK_BYTES = 256 * 1024;

/** Fetches objects from the origin that is followed. */
export interface ObjectOrigin {
  /**
   * Resolves when all are here, verified.
   * @throws {Error} when one cannot be had; with `isAbsent` when the origin has no such object.
   */
  ensure(refs: Iterable<FileRef>): Promise<void>;
}

const isAbsent = (error: unknown): boolean =>
  error instanceof Error && 'isAbsent' in error && error.isAbsent === true;

export class Objects {
  readonly #directory: string;
  /** By hash, the stamp of a file with another content. A missing file is not damaged: it may be back at once. */
  readonly #damaged = new Map<string, Stamp>();

  readonly #origin: ObjectOrigin | null;

  /** @param directory of the snapshots. @param origin null when the directory holds all objects. */
  constructor(directory: string, origin: ObjectOrigin | null = null) {
    this.#directory = directory;
    this.#origin = origin;
  }

  path({ sha256 }: FileRef): string {
    return join(this.#directory, objectPath(sha256));
  }

  isDamaged({ sha256 }: FileRef): boolean {
    return this.#damaged.has(sha256);
  }

  /** Fetches what is missing or known to be damaged, where an origin is followed. @throws {Error} of the fetch. */
  async ensure(refs: readonly FileRef[]): Promise<void> {
    if (this.#origin === null) return;
    for (const ref of refs) if (this.#damaged.delete(ref.sha256)) await rm(this.path(ref), { force: true });
    await this.#origin.ensure(refs);
  }

  /** The whole file, verified. @throws {Error} of the file system, or when it has another content. */
  async read(ref: FileRef): Promise<Buffer> {
    await this.ensure([ref]);
    const bytes = await readFile(this.path(ref));
    if (bytes.length === ref.bytes && hash('sha256', bytes) === ref.sha256) {
      this.#damaged.delete(ref.sha256);
      return bytes;
    }
    const stamp = await this.#stampOf(ref);
    if (stamp !== null) this.#damaged.set(ref.sha256, stamp);
    throw new SnapshotUnreadable('another content than published');
  }

  /** Whether it is kept, here or at the origin. @throws {SnapshotUnreadable} when the origin does not say. */
  async isKept(ref: FileRef): Promise<boolean> {
    try {
      await this.ensure([ref]);
    } catch (cause) {
      if (isAbsent(cause)) return false;
      throw new SnapshotUnreadable('the origin cannot be asked', { cause });
    }
    return this.hasSize(ref);
  }

  /** Whether the file is there in its length. Reads nothing. */
  async hasSize(ref: FileRef): Promise<boolean> {
    const file = await stat(this.path(ref)).catch(() => null);
    return file?.isFile() === true && file.size === ref.bytes;
  }

  /**
   * Hashes the file, unless it is known to be damaged and was not replaced since.
   * @param pace awaited after each block with its length.
   */
  async verify(ref: FileRef, pace: (bytes: number) => Promise<void> = async () => {}): Promise<boolean> {
    const stamp = await this.#stampOf(ref);
    if (stamp !== null && this.#damaged.get(ref.sha256) === stamp) return false;
    const isSound = stamp !== null && (await this.#hasContent(ref, pace));
    if (isSound || stamp === null) this.#damaged.delete(ref.sha256);
    else this.#damaged.set(ref.sha256, stamp);
    return isSound;
  }

  async #hasContent(ref: FileRef, pace: (bytes: number) => Promise<void>): Promise<boolean> {
    const file = await open(this.path(ref)).catch(() => null);
    if (file === null) return false;
    try {
      return (await digestOf(file, pace)) === ref.sha256;
    } catch {
      return false;
    } finally {
      await file.close();
    }
  }

  async #stampOf(ref: FileRef): Promise<Stamp | null> {
    const file = await stat(this.path(ref)).catch(() => null);
    return file === null ? null : `${file.size} ${file.mtimeMs} ${file.ctimeMs} ${file.ino}`;
  }
}

async function digestOf(file: FileHandle, pace: (bytes: number) => Promise<void>): Promise<string> {
  const whole = createHash('sha256');
  const block = Buffer.allocUnsafe(BLOCK_BYTES);
  for (;;) {
    const { bytesRead } = await file.read(block);
    if (bytesRead === 0) return whole.digest('hex');
    whole.update(block.subarray(0, bytesRead));
    await pace(bytesRead);
  }
}
