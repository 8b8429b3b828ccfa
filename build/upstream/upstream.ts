/**
 * What a run read upstream, and the question whether any of it has changed since.
 *
 * A validator is whatever tells two versions of a file apart without reading them: an ETag or Last-Modified of a
 * server, size and time of a file. A file without one counts as changed.
 */
import { z } from 'zod';

/**
 * Reads upstream files by a reference relative to the provider's origin, from the origin or from PROVIDER_MIRROR.
 * A reference is a relative URL: names are percent-encoded (`encodeURIComponent` each) and a query may follow. A
 * mirror that is a directory decodes the names and drops the query.
 */
export interface Upstream {
  /** Bytes of one file as a stream. Throws UpstreamError after its retries. */
  stream(path: string): Promise<AsyncIterable<Uint8Array>>;
  /** A small file whole, as text. */
  text(path: string): Promise<string>;
}

export const fetchedFile = z.object({
  reference: z.string(),
  validator: z.string().nullable(),
  last_modified: z.string().nullable(),
  bytes: z.int(),
});
export type FetchedFile = z.infer<typeof fetchedFile>;

export interface TrackedUpstream extends Upstream {
  /**
   * Everything that was read so far, in the order of reading, each file once.
   * @throws {UpstreamError} when it has turned out since that what was read cannot have been whole.
   */
  fetched(): FetchedFile[];
  /** Whether every one of these files is as it was. */
  unchanged(files: readonly FetchedFile[]): Promise<boolean>;
  /** Bytes read so far. */
  readonly bytes: number;
  /**
   * Ends connections.
   * @param complete whether all was read that the provider has, so that copies of anything else can go. Default: no.
   */
  close(complete?: boolean): Promise<void>;
}

/** Remembers files by reference, each once. */
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

/** The newest Last-Modified of some files as an ISO date-time, or null when none was told. */
export function newestModification(files: readonly FetchedFile[]): string | null {
  const times = files.flatMap((file) => (file.last_modified ? [Date.parse(file.last_modified)] : []));
  const known = times.filter((time) => Number.isFinite(time));
  return known.length === 0 ? null : new Date(Math.max(...known)).toISOString();
}

/** An upstream file could not be had. The message says which and why; it is shown to operators, not to the public. */
export class UpstreamError extends Error {
  override name = 'UpstreamError';
  /** The HTTP status, where there was an answer. */
  readonly status: number | null;
  constructor(message: string, status: number | null = null, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}
