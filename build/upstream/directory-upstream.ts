/**
 * Upstream files in a directory: a mirror of an origin, or the starter data.
 *
 * References that leave the directory (`..`, an absolute path, a symbolic link) are refused.
 */
import { realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { type FetchedFile, type StoredFile, TrackedUpstream, UpstreamError } from './upstream.ts';

/** @throws {UpstreamError} for a reference that is no relative path. */
function decodeReference(reference: string): string {
  const bare = reference.replace(/[?#].*$/s, '');
  let path: string;
  try {
    path = decodeURIComponent(bare);
  } catch {
    throw new UpstreamError(`"${reference}" is not a relative URL`);
  }
  const segments = path.split(/[/\\]/);
  if (
    path === '' ||
    path.includes('\0') ||
    segments.includes('..') ||
    segments[0] === '' ||
    /^[a-z]+:/i.test(path)
  ) {
    throw new UpstreamError(`"${reference}" does not name a file below the provider's base`);
  }
  return path;
}

interface DirectoryOptions {
  maxFileBytes: number;
  signal: AbortSignal;
  now?: () => number;
}

/** The validator of a requested file that does not exist. */
const ABSENT = 'absent';

export class DirectoryUpstream extends TrackedUpstream {
  readonly #root: string;
  readonly #options: DirectoryOptions;

  constructor(root: string, options: DirectoryOptions) {
    super(options.signal);
    this.#root = root;
    this.#options = options;
  }

  async #find(reference: string): Promise<{ stored: StoredFile; file: FetchedFile }> {
    this.#options.signal.throwIfAborted();
    const wanted = join(this.#root, decodeReference(reference));
    try {
      const path = await realpath(wanted);
      if (!path.startsWith((await realpath(this.#root)) + sep)) {
        throw new UpstreamError(`"${reference}" is outside the mirror`);
      }
      const { size, mtime } = await stat(path);
      if (size > this.#options.maxFileBytes)
        throw new UpstreamError(`"${reference}" has ${size} bytes: too large`);
      const validator = `${size}-${mtime.getTime()}`;
      const read_ms = (this.#options.now ?? Date.now)();
      const stored = { path, fetched_ms: read_ms, confirmed_ms: read_ms };
      return { stored, file: { reference, validator, last_modified: mtime.toISOString(), bytes: size } };
    } catch (error) {
      if (error instanceof UpstreamError) throw error;
      this.log({ reference, validator: ABSENT, last_modified: null, bytes: 0 });
      throw new UpstreamError(`"${reference}" is not in the mirror`, 404, { cause: error });
    }
  }

  protected override async locate(reference: string): Promise<StoredFile> {
    const { stored, file } = await this.#find(reference);
    this.log(file);
    return stored;
  }

  override async unchanged(files: readonly FetchedFile[]): Promise<boolean> {
    for (const known of files) {
      const now = await this.#find(known.reference).catch(() => null);
      if ((now?.file.validator ?? ABSENT) !== known.validator) return false;
    }
    return files.length > 0;
  }

  override async close(): Promise<void> {}
}
