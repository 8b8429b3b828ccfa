/**
 * Upstream files over HTTP, through a copy on disk.
 *
 * Every file is downloaded whole before a connector sees a byte of it, so a connector never works on half a file and
 * never holds a connection open. Copies stay until the next run, which asks with their validators and reads them again
 * when the server says 304. Each file is asked for once a run; a run that was broken off is continued where it was (see
 * `unfinished-run.ts`).
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent } from 'undici';
import { z } from 'zod';
import { replaceFile } from '../runtime/durable-files.ts';
import { inParallel } from '../runtime/in-parallel.ts';
import { guardedConnect } from './address-guard.ts';
import { type DownloadOptions, download, SURPLUS } from './download.ts';
import { HostGate, type PolitenessOptions } from './politeness.ts';
import { RETRY_DEFAULTS, type RetryOptions } from './retry.ts';
import { type FetchedFile, FetchLog, type TrackedUpstream, UpstreamError } from './upstream.ts';

export interface HttpOptions {
  /** Ends in `/`; every file lies below it. */
  base: string;
  /** Where copies are kept, of this provider alone. */
  cache: string;
  maxFileBytes: number;
  signal: AbortSignal;
  userAgent?: string;
  headersTimeoutMs?: number;
  bodyTimeoutMs?: number;
  slowest?: DownloadOptions['slowest'];
  maxRedirects?: number;
  politeness?: PolitenessOptions;
  retry?: Partial<RetryOptions>;
  now?: () => number;
}

const copyRecord = z.object({
  url: z.string(),
  etag: z.string().nullable(),
  last_modified: z.string().nullable(),
  bytes: z.int(),
});
type CopyRecord = z.infer<typeof copyRecord>;

const PROBES = 4;
/** Far below any provider that works: a megabyte in a quarter of an hour. */
const SLOWEST = { bytesPerS: 1_000, graceMs: 120_000 };

export class HttpUpstream implements TrackedUpstream {
  readonly #base: URL;
  readonly #cache: string;
  readonly #options: DownloadOptions;
  readonly #agent: Agent;
  readonly #gate: HostGate;
  readonly #log = new FetchLog();
  readonly #unfinished: ResumableRun;
  /** Connections on which a server went on sending when its answer was over. */
  #surplus = 0;
  /** Of these, those that a download met, and began anew. */
  #met = 0;
  /** Files that were asked for in this run already. */
  readonly #fresh = new Map<string, Promise<CopyRecord & { path: string; changed: boolean }>>();

  constructor(options: HttpOptions) {
    const retry = { ...RETRY_DEFAULTS, ...options.retry };
    this.#base = new URL(options.base);
    this.#cache = options.cache;
    this.#unfinished = new ResumableRun(options.cache, options.now ?? Date.now);
    this.#agent = new Agent({ connect: guardedConnect(this.#base) });
    this.#agent.on('disconnect', (_origin, _targets, error) => {
      if (error.name === 'HTTPParserError' || error.message === 'bad response') this.#surplus += 1;
    });
    this.#gate = new HostGate(options.politeness ?? { concurrency: 4, intervalMs: 0 }, retry);
    this.#options = {
      ...retry,
      dispatcher: this.#agent,
      origin: this.#base,
      maxFileBytes: options.maxFileBytes,
      maxRedirects: options.maxRedirects ?? 5,
      headersTimeoutMs: options.headersTimeoutMs ?? 60_000,
      bodyTimeoutMs: options.bodyTimeoutMs ?? 60_000,
      slowest: options.slowest ?? SLOWEST,
      surplus: () => {
        this.#met = this.#surplus;
        return this.#surplus;
      },
      userAgent: options.userAgent ?? 'Almanac/1.0 (nightly country statistics)',
      signal: options.signal,
    };
  }

  /** @throws {UpstreamError} for a reference that leaves the provider's base. */
  #resolve(reference: string): URL {
    const url = URL.canParse(reference, this.#base.href) ? new URL(reference, this.#base) : null;
    const below = url?.origin === this.#base.origin && url.pathname.startsWith(this.#base.pathname);
    // `%2e%2e%2f` is data to us and a step upwards to some servers.
    if (!url || !below || /%2f|%5c|(^|\/)(\.|%2e){2}(\/|$)/i.test(url.pathname)) {
      throw new UpstreamError(`"${reference}" does not name a file below the provider's base`);
    }
    return url;
  }

  #fetch(reference: string): Promise<CopyRecord & { path: string; changed: boolean }> {
    const url = this.#resolve(reference);
    let pending = this.#fresh.get(url.href);
    if (!pending) {
      pending = this.#gate.run(this.#options.signal, () => this.#ask(url));
      this.#fresh.set(url.href, pending);
      // The caller awaits it too; this one only keeps a failure that nobody awaits yet from ending the process.
      pending.catch(() => this.#fresh.delete(url.href));
    }
    return pending;
  }

  async #ask(url: URL): Promise<CopyRecord & { path: string; changed: boolean }> {
    await mkdir(this.#cache, { recursive: true });
    const name = createHash('sha256').update(url.href).digest('hex');
    const path = join(this.#cache, name);
    const known = await this.#copyAt(path, url);
    const isOfThisRun = await this.#unfinished.holds(path);
    if (known && isOfThisRun) return { ...known, path, changed: true };
    const draft = `${path}.part`;
    const result = await download(url, draft, known, this.#options);
    if (result.kind === 'unchanged' && known) return { ...known, path, changed: false };
    if (result.kind === 'unchanged')
      throw new UpstreamError(`${url.href}: not modified, but there is no copy`);
    const { etag, last_modified, bytes } = result;
    const record: CopyRecord = { url: url.href, etag, last_modified, bytes };
    // The record goes first, so that a crash in between leaves no body under the validators of another.
    await rm(`${path}.json`, { force: true });
    await rename(draft, path);
    await replaceFile(`${path}.json`, JSON.stringify(record));
    return { ...record, path, changed: true };
  }

  async #copyAt(path: string, url: URL): Promise<CopyRecord | null> {
    const text = await readFile(`${path}.json`, 'utf8').catch(() => null);
    if (text === null) return null;
    const parsed = copyRecord.safeParse(JSON.parse(text));
    return parsed.success && parsed.data.url === url.href ? parsed.data : null;
  }

  async #read(reference: string): Promise<string> {
    const copy = await this.#fetch(reference).catch((error: unknown) => {
      // What could not be read must be asked for again next time: without a validator it counts as changed.
      this.#log.add({ reference, validator: null, last_modified: null, bytes: 0 });
      throw error;
    });
    this.#log.add({
      reference,
      validator: copy.etag ?? copy.last_modified,
      last_modified: copy.last_modified,
      bytes: copy.bytes,
    });
    return copy.path;
  }

  async stream(reference: string): Promise<AsyncIterable<Uint8Array>> {
    return createReadStream(await this.#read(reference), {
      signal: this.#options.signal,
      highWaterMark: 1 << 18,
    });
  }

  async text(reference: string): Promise<string> {
    return readFile(await this.#read(reference), { encoding: 'utf8', signal: this.#options.signal });
  }

  fetched(): FetchedFile[] {
    if (this.#surplus > this.#met) throw new UpstreamError(`${this.#base.host}: ${SURPLUS}`);
    return this.#log.list();
  }

  /** Asks for each file with the validators at hand; stops at the first that has changed. */
  async unchanged(files: readonly FetchedFile[]): Promise<boolean> {
    if (files.length === 0 || files.some((file) => file.validator === null)) return false;
    let same = true;
    await inParallel(files, PROBES, async (file) => {
      if (!same) return;
      const copy = await this.#fetch(file.reference);
      if (copy.changed && (copy.etag ?? copy.last_modified) !== file.validator) same = false;
    });
    return same;
  }

  get bytes(): number {
    return this.#log.bytes;
  }

  async close(complete = false): Promise<void> {
    await this.#agent.close();
    if (!this.#options.signal.aborted) await this.#unfinished.end();
    if (!complete) return;
    const used = new Set<string>();
    for (const pending of this.#fresh.values()) {
      const copy = await pending.catch(() => null);
      if (copy) used.add(copy.path);
    }
    for (const name of await readdir(this.#cache).catch(() => [])) {
      const path = join(this.#cache, name.replace(/\.json$/, ''));
      if (!used.has(path)) await rm(join(this.#cache, name), { force: true });
    }
  }
}

/**
 * What a run that was broken off had fetched already, so that paging goes on where it was instead of at page one.
 *
 * A file beside the copies says when the unfinished run began: it appears with the first fetch and goes when the run
 * comes to an end of its own, good or bad. A crash or a cancellation leaves it, and for an hour the next run takes the
 * copies made since as they are; pages of different hours are never mixed.
 */

const MARK = '.unfinished';
const RESUMABLE_MS = 3_600_000;

export class ResumableRun {
  readonly #directory: string;
  readonly #now: () => number;
  #since: Promise<number | null> | null = null;

  constructor(directory: string, now: () => number) {
    this.#directory = directory;
    this.#now = now;
  }

  /** Whether a copy is of the run that this one continues. */
  async holds(copy: string): Promise<boolean> {
    this.#since ??= this.#begin();
    const since = await this.#since;
    if (since === null) return false;
    const made = await stat(copy).catch(() => null);
    return made !== null && made.mtimeMs >= since;
  }

  /**
   * When the run that is continued began, by the clock of the file system: it runs some milliseconds behind ours, and
   * copies are dated by it. Null when this run begins anew.
   */
  async #begin(): Promise<number | null> {
    const mark = join(this.#directory, MARK);
    const since = Number(await readFile(mark, 'utf8').catch(() => 'NaN'));
    if (this.#now() - since < RESUMABLE_MS) return (await stat(mark)).mtimeMs;
    await mkdir(this.#directory, { recursive: true });
    await writeFile(mark, String(this.#now()));
    return null;
  }

  /** The run came to its end: nothing is left to go on with. */
  async end(): Promise<void> {
    await rm(join(this.#directory, MARK), { force: true });
  }
}
