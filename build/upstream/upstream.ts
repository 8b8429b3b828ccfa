/**
 * The interface to a provider's files, and the records of what a run has read: validators, which tell whether anything
 * changed, and hashes of the very bytes that its connector got.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { type FileDigest, hashFile } from '../../data/runtime/durable-files.ts';

/**
 * Reads upstream files from the origin or from PROVIDER_MIRROR. A reference is a URL relative to the provider's origin:
 * path segments are percent-encoded, and a query may follow. A mirror directory decodes the segments and ignores the
 * query.
 */
export interface Upstream {
  /** The bytes of one file. Throws UpstreamError after the retries. */
  stream(reference: string): Promise<AsyncIterable<Uint8Array>>;
  /** A small file as text. Throws UpstreamError after the retries. */
  text(reference: string): Promise<string>;
}

/** An upstream file is unavailable. The message names the file and the reason; operators see it, the public does not. */
export class UpstreamError extends Error {
  override name = 'UpstreamError';
  /** The HTTP status, or null without a response. */
  readonly status: number | null;
  constructor(message: string, status: number | null = null, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** Encodes a file path as a reference. */
export const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

const HTTP_NOT_FOUND = 404;

export const isNotFound = (error: unknown): boolean =>
  error instanceof Error && 'status' in error && error.status === HTTP_NOT_FOUND;

/**
 * A file that a run has read. The validator distinguishes two versions without reading them: an ETag, Last-Modified, or
 * size and time of a file on disk. A file without one counts as changed.
 */
export const fetchedFile = z.object({
  reference: z.string(),
  validator: z.string().nullable(),
  last_modified: z.string().nullable(),
  bytes: z.int(),
});
export type FetchedFile = z.infer<typeof fetchedFile>;

export interface TrackedUpstream extends Upstream {
  /**
   * The files read so far in order of first reading, each once.
   * @throws {UpstreamError} when a file has since turned out to be truncated.
   */
  fetched(): FetchedFile[];
  /** Whether none of these files has changed. */
  unchanged(files: readonly FetchedFile[]): Promise<boolean>;
  /** The files read so far with the hashes of what was read, each once. */
  hashes(): Promise<HashedFile[]>;
  /** Bytes read so far. */
  readonly bytes: number;
  /**
   * Closes connections.
   * @param complete whether the run read everything the provider has, so that other cached copies can be deleted
   */
  close(complete?: boolean): Promise<void>;
}

/** The files of a run by reference. */
export class FetchLog {
  readonly #files = new Map<string, FetchedFile>();
  bytes = 0;

  add(file: FetchedFile): void {
    if (!this.#files.has(file.reference)) this.bytes += file.bytes;
    this.#files.set(file.reference, file);
  }

  list(): FetchedFile[] {
    return [...this.#files.values()];
  }
}

/** The newest Last-Modified of the files as an ISO date-time; null when none has one. */
export function newestModification(files: readonly FetchedFile[]): string | null {
  const times = files.flatMap((file) => (file.last_modified ? [Date.parse(file.last_modified)] : []));
  const known = times.filter((time) => Number.isFinite(time));
  return known.length === 0 ? null : new Date(Math.max(...known)).toISOString();
}

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
