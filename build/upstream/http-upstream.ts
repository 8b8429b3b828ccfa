/**
 * Upstream files over HTTP, through a cache on disk.
 *
 * A file is downloaded completely before a connector reads it. Each file is requested at most once per run. The next run
 * revalidates the cached copies and reads them again after a 304.
 */
import { hash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent } from 'undici';
import { z } from 'zod';
import { replaceFile } from '../../data/runtime/durable-files.ts';
import { inParallel } from '../../data/runtime/in-parallel.ts';
import {
  DEFAULT_LIMITS,
  type DownloadLimits,
  type DownloadOptions,
  download,
  EXCESS_BYTES_MESSAGE,
  guardedConnect,
} from './download.ts';
import { type FetchedFile, type StoredFile, TrackedUpstream, UpstreamError } from './upstream.ts';

export interface HttpOptions extends Partial<DownloadLimits> {
  /** Ends in `/`; every reference resolves below it. */
  base: string;
  /** The cache directory of this provider. */
  cache: string;
  maxFileBytes: number;
  signal: AbortSignal;
  now?: () => number;
}

const cachedCopy = z.object({
  url: z.string(),
  etag: z.string().nullable(),
  last_modified: z.string().nullable(),
  bytes: z.int(),
  /** Unix milliseconds. */
  fetched_ms: z.number(),
});
type CachedCopy = z.infer<typeof cachedCopy>;
type FetchedCopy = CachedCopy & StoredFile & { changed: boolean };

/** Requests in flight to one provider. Connectors read one file after the other. */
const MAX_CONCURRENT_REQUESTS = 4;

export class HttpUpstream extends TrackedUpstream {
  readonly #base: URL;
  readonly #cache: string;
  readonly #options: DownloadOptions;
  readonly #agent: Agent;
  readonly #now: () => number;
  /** Connections on which a server sent bytes beyond the end of a response. */
  #excessResponses = 0;
  /** The part of these that a download has already seen and retried. */
  #retriedExcess = 0;
  /** What this run has requested by URL. */
  readonly #copies = new Map<string, FetchedCopy>();

  constructor({ base, cache, now = Date.now, ...options }: HttpOptions) {
    super(options.signal);
    this.#base = new URL(base);
    this.#cache = cache;
    this.#now = now;
    this.#agent = new Agent({ connect: guardedConnect(this.#base) });
    this.#agent.on('disconnect', (_origin, _targets, error) => {
      if (error.name === 'HTTPParserError' || error.message === 'bad response') this.#excessResponses += 1;
    });
    this.#options = {
      ...DEFAULT_LIMITS,
      ...options,
      dispatcher: this.#agent,
      origin: this.#base,
      countExcessResponses: () => {
        this.#retriedExcess = this.#excessResponses;
        return this.#excessResponses;
      },
    };
  }

  /** @throws {UpstreamError} for a reference that leaves the provider's base. */
  #resolve(reference: string): URL {
    const url = URL.parse(reference, this.#base.href);
    const isBelowBase = url?.origin === this.#base.origin && url.pathname.startsWith(this.#base.pathname);
    // Some servers decode `%2e%2e%2f` into a step upwards.
    if (!url || !isBelowBase || /%2f|%5c|(^|\/)(\.|%2e){2}(\/|$)/i.test(url.pathname)) {
      throw new UpstreamError(`"${reference}" does not name a file below the provider's base`);
    }
    return url;
  }

  async #fetch(reference: string): Promise<FetchedCopy> {
    const url = this.#resolve(reference);
    const copy = this.#copies.get(url.href) ?? (await this.#revalidate(url));
    this.#copies.set(url.href, copy);
    return copy;
  }

  async #revalidate(url: URL): Promise<FetchedCopy> {
    await mkdir(this.#cache, { recursive: true });
    const path = join(this.#cache, hash('sha256', url.href));
    const known = await this.#readCopy(path, url);
    const draft = `${path}.part`;
    const result = await download(url, draft, known, this.#options);
    if (result.kind === 'unchanged') {
      if (known) return { ...known, path, changed: false, confirmed_ms: this.#now() };
      throw new UpstreamError(`${url.href}: not modified, but there is no cached copy`);
    }
    const { etag, last_modified, bytes } = result;
    const fetched_ms = this.#now();
    const copy: CachedCopy = { url: url.href, etag, last_modified, bytes, fetched_ms };
    // The old record is removed first, so that a crash in between leaves no body under the validators of another.
    await rm(`${path}.json`, { force: true });
    await rename(draft, path);
    await replaceFile(`${path}.json`, JSON.stringify(copy));
    return { ...copy, path, changed: true, confirmed_ms: fetched_ms };
  }

  async #readCopy(path: string, url: URL): Promise<CachedCopy | null> {
    const text = await readFile(`${path}.json`, 'utf8').catch(() => null);
    if (text === null) return null;
    const parsed = cachedCopy.safeParse(JSON.parse(text));
    return parsed.data?.url === url.href ? parsed.data : null;
  }

  protected override async locate(reference: string): Promise<StoredFile> {
    const copy = await this.#fetch(reference).catch((error: unknown) => {
      // Without a validator the file counts as changed, so the next run requests it again.
      this.log({ reference, validator: null, last_modified: null, bytes: 0 });
      throw error;
    });
    const { etag, last_modified, bytes } = copy;
    this.log({ reference, validator: etag ?? last_modified, last_modified, bytes });
    return copy;
  }

  override fetched(): FetchedFile[] {
    if (this.#excessResponses > this.#retriedExcess) {
      throw new UpstreamError(`${this.#base.host}: ${EXCESS_BYTES_MESSAGE}`);
    }
    return super.fetched();
  }

  /** Revalidates the files; stops at the first that has changed. */
  override async unchanged(files: readonly FetchedFile[]): Promise<boolean> {
    if (files.length === 0 || files.some((file) => file.validator === null)) return false;
    let isSame = true;
    await inParallel(files, MAX_CONCURRENT_REQUESTS, async (file) => {
      if (!isSame) return;
      const copy = await this.#fetch(file.reference);
      if (copy.changed && (copy.etag ?? copy.last_modified) !== file.validator) isSame = false;
    });
    return isSame;
  }

  override async close(complete = false): Promise<void> {
    await this.#agent.close();
    if (!complete) return;
    const used = new Set([...this.#copies.values()].map(({ path }) => path));
    for (const name of await readdir(this.#cache).catch(() => [])) {
      const path = join(this.#cache, name.replace(/\.json$/, ''));
      if (!used.has(path)) await rm(join(this.#cache, name), { force: true });
    }
  }
}
