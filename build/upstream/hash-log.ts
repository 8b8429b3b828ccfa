/** Hashes the files that a run reads: the very bytes that its connector gets, whatever the file becomes later. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type FileDigest, hashFile } from '../runtime/hash-file.ts';

/** A file on disk with upstream's bytes. Times are Unix milliseconds. */
export interface StoredFile {
  path: string;
  /** When the bytes came from upstream; of a mirror directory, when they were read. */
  fetched_ms: number;
  /** When upstream last sent these bytes or said that they are unchanged. */
  confirmed_ms: number;
}

export interface HashedFile extends FileDigest {
  /** Relative to the provider's origin or mirror. */
  reference: string;
  fetched_ms: number;
  confirmed_ms: number;
}

interface LoggedFile {
  file: StoredFile;
  digest: FileDigest | null;
}

const READ_BYTES = 1 << 18;

export class HashLog {
  readonly #files = new Map<string, LoggedFile>();

  #add(reference: string, file: StoredFile): LoggedFile {
    const known = this.#files.get(reference);
    if (known) return known;
    const logged = { file, digest: null };
    this.#files.set(reference, logged);
    return logged;
  }

  async *stream(reference: string, file: StoredFile, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const logged = this.#add(reference, file);
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const chunk of createReadStream(file.path, { signal, highWaterMark: READ_BYTES })) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
    logged.digest ??= { bytes, sha256: hash.digest('hex') };
  }

  async text(reference: string, file: StoredFile, signal: AbortSignal): Promise<string> {
    const logged = this.#add(reference, file);
    const content = await readFile(file.path, { signal });
    const sha256 = createHash('sha256').update(content).digest('hex');
    logged.digest ??= { bytes: content.length, sha256 };
    return content.toString('utf8');
  }

  /** All files in order of first reading. One that no connector read to its end is hashed from disk. */
  async list(): Promise<HashedFile[]> {
    const hashed: HashedFile[] = [];
    for (const [reference, logged] of this.#files) {
      const { path, fetched_ms, confirmed_ms } = logged.file;
      logged.digest ??= await hashFile(path);
      hashed.push({ reference, ...logged.digest, fetched_ms, confirmed_ms });
    }
    return hashed;
  }
}
