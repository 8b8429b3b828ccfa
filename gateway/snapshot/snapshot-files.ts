/**
 * The files of an open snapshot. They were verified when it was opened, but may disappear while it is served: a volume
 * that is unmounted, a directory that is deleted. A read of such a file is unavailable, not an internal error.
 */
import { access, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MANIFEST, type Manifest } from '../../data/schema/snapshot.ts';

/** A file cannot be read as it was published: a transient fault, reported as `unavailable`. */
export class SnapshotUnreadable extends Error {
  override name = 'SnapshotUnreadable';
}

export class SnapshotFiles {
  readonly #directory: string;
  readonly #manifest: Pick<Manifest, 'files'>;
  #unreadable: string | null = null;

  constructor(directory: string, manifest: Pick<Manifest, 'files'>) {
    this.#directory = directory;
    this.#manifest = manifest;
  }

  /** The file that could not be read first; null while all could be. */
  get unreadable(): string | null {
    return this.#unreadable;
  }

  path(name: string): string {
    return join(this.#directory, name);
  }

  /** In bytes; 0 for an unknown file. */
  sizeOf(name: string): number {
    return this.#manifest.files[name]?.bytes ?? 0;
  }

  /** Whether the directory is there. */
  isPresent(): Promise<boolean> {
    return access(this.path(MANIFEST)).then(
      () => true,
      () => false,
    );
  }

  /** @throws {SnapshotUnreadable} */
  read(name: string): Promise<Buffer> {
    return this.guard(name, readFile(this.path(name)));
  }

  /** Passes on what is read from a file. @throws {SnapshotUnreadable} when that failed because of the file. */
  async guard<T>(name: string, reading: Promise<T>): Promise<T> {
    try {
      return await reading;
    } catch (cause) {
      if (!isFileError(cause) && (await this.#isIntact(name))) throw cause;
      this.#unreadable ??= name;
      throw new SnapshotUnreadable(`${name} cannot be read`, { cause });
    }
  }

  async #isIntact(name: string): Promise<boolean> {
    const file = await open(this.path(name)).catch(() => null);
    if (file === null) return false;
    const { size } = await file.stat();
    await file.close();
    return size === this.sizeOf(name);
  }
}

/** An error of the file system or of DuckDB's access to it. The file may be back by now. */
function isFileError(error: unknown): boolean {
  return error instanceof Error && ('syscall' in error || error.message.startsWith('IO Error'));
}
