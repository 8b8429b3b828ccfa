/** The interface to a provider's files, and the record of what a run has read, which tells whether anything changed. */
import { z } from 'zod';
import type { HashedFile } from './hash-log.ts';

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
