/**
 * Mirrors the origin into the local snapshot directory, so that the gateway serves what the origin published.
 *
 * A change of pointer, log or what is withheld is fetched in the order of a publication: log and withholding are proven
 * first, then come manifests, objects of the served edition, what is withheld, log and pointer. Each step is verified
 * before the next and each file replaced by one rename, so whatever fails leaves the served edition as it is. The next
 * poll goes on with what is still missing.
 */
import { hash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import type { LogKey } from '../../../../data/proofs/verify-receipt.ts';
import { replaceFile } from '../../../../data/runtime/durable-files.ts';
import { inParallel } from '../../../../data/runtime/in-parallel.ts';
import {
  NOTHING_WITHHELD,
  parseWithheld,
  WITHHELD,
  type WithheldRecord,
  withReplacedLists,
} from '../../../../data/runtime/withheld.ts';
import type { ManifestFacts } from '../../../../data/schema/editions.ts';
import {
  CURRENT_POINTER,
  type FileRef,
  fileList,
  type LogEntry,
  type Manifest,
  manifestPath,
  manifest as manifestSchema,
  objectPath,
  PUBLICATION_LOG,
  publicationLog,
  SNAPSHOT_ID,
} from '../../../../data/schema/snapshot.ts';
import type { ObjectCache } from './object-cache.ts';
import type { ObjectFetcher } from './object-fetcher.ts';
import { type OriginClient, OriginError, type Validators } from './origin-client.ts';
import { proveEntries, proveLog, proveWithheld } from './proven.ts';

const POINTER_BYTES_MAX = 256;
const LOG_BYTES_MAX = 256 * 1024 * 1024;
const WITHHELD_BYTES_MAX = 256 * 1024 * 1024;
const MANIFEST_BYTES_MAX = 16 * 1024 * 1024;
const MANIFESTS_AT_ONCE = 8;

export interface FollowerOptions {
  /** SNAPSHOT_DIR. */
  directory: string;
  client: OriginClient;
  fetcher: ObjectFetcher;
  cache: ObjectCache;
  keys: readonly LogKey[];
  pollMs: number;
  log: Logger;
  /** Called when the local pointer was replaced. */
  onPublish: () => Promise<void>;
}

/** A file that is polled, as it was read last. */
interface Polled {
  text: string;
  validators: Validators;
}

const UNREAD: Polled = { text: '', validators: {} };

export class OriginFollower {
  readonly #options: FollowerOptions;
  #pointer = UNREAD;
  #log = UNREAD;
  /** Empty while the origin has no such file. */
  #withheld = UNREAD;
  /** Pointer, log and what is withheld of the last mirrored state. */
  #mirrored = '';
  /** Editions of the log that was proven last. */
  #seen: readonly LogEntry[] | null = null;
  /** By the hash of the manifest. */
  readonly #manifests = new Map<string, ManifestFacts>();
  #fault: string | null = null;
  #isAway = false;
  #timer: NodeJS.Timeout | null = null;
  #checking: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** Why the last poll failed, as a sentence; null when it did not. */
  get fault(): string | null {
    return this.#fault;
  }

  /** Polls at once, then at intervals. Returns while the first poll runs. */
  start(): void {
    void this.check().then(() => {
      if (this.#isClosed) return;
      this.#timer = setTimeout(() => this.start(), this.#options.pollMs);
      this.#timer.unref();
    });
  }

  /** Polls now; concurrent callers share one poll. Never rejects. */
  check(): Promise<void> {
    this.#checking ??= this.#poll().finally(() => {
      this.#checking = null;
    });
    return this.#checking;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#checking;
  }

  async #poll(): Promise<void> {
    const { log, cache } = this.#options;
    try {
      await this.#mirror();
      if (this.#fault !== null) log.info('the origin is followed again');
      [this.#fault, this.#isAway] = [null, false];
      await cache.evictWhenDue();
    } catch (error) {
      if (this.#isClosed) return;
      const fault = error instanceof Error ? error.message : String(error);
      const isAway = error instanceof OriginError && error.isAway;
      // A fault that lasts is logged once. An origin that is away may say so in many ways.
      const isKnown = isAway ? this.#isAway : fault === this.#fault;
      [this.#fault, this.#isAway] = [fault, isAway];
      if (!isKnown)
        log.error({ err: error, serving: await this.#localPointer() }, 'the origin is not followed');
    }
  }

  async #mirror(): Promise<void> {
    // The pointer first: the origin replaces it last, so a log that is read after it has its edition.
    this.#pointer = await this.#read(CURRENT_POINTER, POINTER_BYTES_MAX, this.#pointer);
    this.#log = await this.#read(PUBLICATION_LOG, LOG_BYTES_MAX, this.#log);
    // The origin writes this before the log: what is read after it is at least as new.
    this.#withheld = await this.#readWithheld();
    const id = this.#pointer.text.trim();
    const state = `${id}\n${this.#log.text}\n${this.#withheld.text}`;
    if (state === this.#mirrored) return;
    if (!SNAPSHOT_ID.test(id)) throw new OriginError(`${CURRENT_POINTER}: no snapshot id`);
    const { directory, keys, log, fetcher, cache, onPublish } = this.#options;
    const before = this.#seen ?? (await this.#localLog());
    const { editions } = proveLog(this.#log.text, keys, before);
    const served = editions.find(({ edition }) => edition === id);
    if (!served) throw new OriginError(`${CURRENT_POINTER}: ${id} is not in the log`);
    proveEntries(editions, await this.#factsOf(editions));
    this.#seen = editions;
    const withheld = await this.#proveWithheld();
    const manifest = withReplacedLists(await this.#manifest(served), withheld);
    const objects = await this.#ensureObjects(manifest);
    cache.protect(objects);
    await fetcher.clean();
    if (this.#withheld.text !== '') await replaceFile(join(directory, WITHHELD), this.#withheld.text);
    await replaceFile(join(directory, PUBLICATION_LOG), this.#log.text);
    if ((await this.#localPointer()) !== id) {
      await replaceFile(join(directory, CURRENT_POINTER), id);
      log.info({ snapshot: id, objects: objects.size }, 'mirrored from the origin');
      await onPublish();
    }
    this.#mirrored = state;
  }

  async #read(path: string, most_bytes: number, known: Polled): Promise<Polled> {
    const blocks: Buffer[] = [];
    const validators = await this.#options.client.read(
      path,
      most_bytes,
      known.validators,
      (block) => void blocks.push(block),
    );
    return validators === null ? known : { text: Buffer.concat(blocks).toString(), validators };
  }

  /** Most origins have none, and then nothing is withheld. */
  async #readWithheld(): Promise<Polled> {
    try {
      return await this.#read(WITHHELD, WITHHELD_BYTES_MAX, this.#withheld);
    } catch (error) {
      const isUnknown =
        error instanceof OriginError && error.isAbsent && (await this.#localWithheld()) === null;
      if (!isUnknown) throw error;
      return UNREAD;
    }
  }

  /** @throws {OriginError} */
  async #proveWithheld(): Promise<WithheldRecord> {
    const before = (await this.#localWithheld()) ?? NOTHING_WITHHELD;
    if (this.#withheld.text === '') return before;
    return proveWithheld(this.#withheld.text, this.#options.keys, before);
  }

  /** What was proven last; null when there is none or it is damaged. */
  #localWithheld(): Promise<WithheldRecord | null> {
    return readFile(join(this.#options.directory, WITHHELD), 'utf8')
      .then(parseWithheld)
      .catch(() => null);
  }

  /** Fetches the manifests that are not here. @returns what they say, by edition. */
  async #factsOf(editions: readonly LogEntry[]): Promise<Map<string, ManifestFacts>> {
    const facts = new Map<string, ManifestFacts>();
    await inParallel(editions, MANIFESTS_AT_ONCE, async (entry) => {
      const known = this.#manifests.get(entry.manifest) ?? pickFacts(await this.#manifest(entry));
      this.#manifests.set(entry.manifest, known);
      facts.set(entry.edition, known);
    });
    return facts;
  }

  /** The manifest of an entry, fetched unless it is here. */
  async #manifest(entry: LogEntry): Promise<Manifest> {
    const path = manifestPath(entry.edition);
    const file = join(this.#options.directory, path);
    const isProven = (text: string): boolean => hash('sha256', text) === entry.manifest;
    const here = await readFile(file, 'utf8').catch(() => '');
    if (isProven(here)) return manifestSchema.parse(JSON.parse(here));
    const { text } = await this.#read(path, MANIFEST_BYTES_MAX, UNREAD);
    if (!isProven(text)) throw new OriginError(`${path}: not the manifest of the log`);
    await mkdir(dirname(file), { recursive: true });
    await replaceFile(file, text);
    return manifestSchema.parse(JSON.parse(text));
  }

  /** Fetches what the edition needs. @returns all its objects. */
  async #ensureObjects(manifest: Manifest): Promise<Set<string>> {
    const { fetcher } = this.#options;
    const lists = [...Object.values(manifest.providers), manifest.prerendered];
    await fetcher.ensure(lists);
    const named = await Promise.all(lists.map((ref) => this.#readList(ref)));
    const files = [...Object.values(manifest.kept), ...named.flat()];
    await fetcher.ensure(files);
    return new Set([...lists, ...files].map(({ sha256 }) => sha256));
  }

  /** Fetched anew where it has another content than published. */
  async #readList(ref: FileRef): Promise<FileRef[]> {
    const { directory, fetcher, log } = this.#options;
    const file = join(directory, objectPath(ref.sha256));
    let bytes = await readFile(file);
    if (hash('sha256', bytes) !== ref.sha256) {
      log.error({ object: ref.sha256 }, 'published file has another content');
      await fetcher.ensure([ref], true);
      bytes = await readFile(file);
    }
    return Object.values(fileList.parse(JSON.parse(bytes.toString())));
  }

  async #localLog(): Promise<readonly LogEntry[]> {
    const text = await this.#local(PUBLICATION_LOG);
    return text === null ? [] : publicationLog.parse(JSON.parse(text)).editions;
  }

  async #localPointer(): Promise<string | null> {
    return (await this.#local(CURRENT_POINTER))?.trim() ?? null;
  }

  #local(name: string): Promise<string | null> {
    return readFile(join(this.#options.directory, name), 'utf8').catch(() => null);
  }
}

const pickFacts = ({ counts, lineage, successor }: Manifest): ManifestFacts => ({
  counts,
  lineage,
  successor,
});
