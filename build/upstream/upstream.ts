/**
 * The interface to a provider's files, and the records of what a run has read: validators, which tell whether anything
 * changed, and hashes of the very bytes that its connector got.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { max } from 'd3-array';
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

/** Whether a file is unavailable with this HTTP status. */
export const hasStatus = (error: unknown, status: number): boolean =>
  error instanceof UpstreamError && error.status === status;

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

/** The newest Last-Modified of the files as an ISO date-time; null when none has one. */
export function newestModification(files: readonly FetchedFile[]): string | null {
  const newest = max(files, (file) => Date.parse(file.last_modified ?? ''));
  return newest === undefined ? null : new Date(newest).toISOString();
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

const READ_BYTES = 1 << 18;

/** Reads files from disk, wherever they come from, and logs each: its validator, and the hash of what was read. */
export abstract class TrackedUpstream implements Upstream {
  readonly #fetched = new Map<string, FetchedFile>();
  readonly #read = new Map<string, { file: StoredFile; digest: FileDigest | null }>();
  readonly #signal: AbortSignal;
  /** Bytes read so far. */
  bytes = 0;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Finds a file, or fetches it, and logs it by `log`. @throws {UpstreamError} */
  protected abstract locate(reference: string): Promise<StoredFile>;
  /** Whether none of these files has changed. */
  abstract unchanged(files: readonly FetchedFile[]): Promise<boolean>;
  /**
   * Closes connections.
   * @param complete whether the run read everything the provider has, so that other cached copies can be deleted
   */
  abstract close(complete?: boolean): Promise<void>;

  protected log(file: FetchedFile): void {
    if (!this.#fetched.has(file.reference)) this.bytes += file.bytes;
    this.#fetched.set(file.reference, file);
  }

  async stream(reference: string): Promise<AsyncIterable<Uint8Array>> {
    const file = await this.locate(reference);
    const opened = this.#read.get(reference) ?? { file, digest: null };
    this.#read.set(reference, opened);
    const signal = this.#signal;
    return (async function* read() {
      const hash = createHash('sha256');
      let bytes = 0;
      for await (const chunk of createReadStream(file.path, { signal, highWaterMark: READ_BYTES })) {
        hash.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
      opened.digest ??= { bytes, sha256: hash.digest('hex') };
    })();
  }

  async text(reference: string): Promise<string> {
    const content = await buffer(await this.stream(reference));
    return content.toString('utf8');
  }

  /**
   * The files read so far in order of first reading, each once.
   * @throws {UpstreamError} when a file has since turned out to be truncated.
   */
  fetched(): FetchedFile[] {
    return [...this.#fetched.values()];
  }

  /** The files read so far with the hashes of what was read, each once. One that was not read to its end is hashed from disk. */
  async hashes(): Promise<HashedFile[]> {
    const hashed: HashedFile[] = [];
    for (const [reference, { file, digest }] of this.#read) {
      const { path, fetched_ms, confirmed_ms } = file;
      hashed.push({ reference, ...(digest ?? (await hashFile(path))), fetched_ms, confirmed_ms });
    }
    return hashed;
  }
}
