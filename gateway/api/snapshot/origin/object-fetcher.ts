/** Fetches objects of the origin into the local directory. An object is there whole and verified, or not at all. */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pLimit from 'p-limit';
import { syncDirectory } from '../../../../data/runtime/durable-files.ts';
import { type FileRef, objectPath } from '../../../../data/schema/snapshot.ts';
import { type OriginClient, OriginError } from './origin-client.ts';

const FETCHES = 8;
const DRAFT = '.fetching-';
/** A draft this old was left by a process that ended. */
const DRAFT_LIFE_MS = 3_600_000;

export interface ObjectFetcherOptions {
  /** SNAPSHOT_DIR. */
  directory: string;
  client: OriginClient;
  now: () => number;
}

export class ObjectFetcher {
  readonly #directory: string;
  readonly #client: OriginClient;
  readonly #now: () => number;
  readonly #limit = pLimit(FETCHES);
  readonly #pending = new Map<string, Promise<void>>();

  constructor({ directory, client, now }: ObjectFetcherOptions) {
    this.#directory = directory;
    this.#client = client;
    this.#now = now;
  }

  /**
   * Fetches the objects that are not here, and marks the others as used now. @param anew fetches all, and replaces what is here.
   * @throws {OriginError} when one cannot be fetched or has another content than its name; {Error} of the file system.
   */
  async ensure(refs: Iterable<FileRef>, anew = false): Promise<void> {
    // All end before an error is thrown, so that no fetch goes on behind the caller's back.
    const ended = await Promise.allSettled([...refs].map((ref) => this.#ensureOne(ref, anew)));
    const failure = ended.find((one) => one.status === 'rejected');
    if (failure) throw failure.reason;
  }

  /** Removes drafts that killed processes left. */
  async clean(): Promise<void> {
    for (const name of await readdir(this.#directory)) {
      if (!name.startsWith(DRAFT)) continue;
      const path = join(this.#directory, name);
      const draft = await stat(path).catch(() => null);
      if (draft && this.#now() - draft.mtimeMs > DRAFT_LIFE_MS) await rm(path, { force: true });
    }
  }

  async #ensureOne(ref: FileRef, anew: boolean): Promise<void> {
    const path = join(this.#directory, objectPath(ref.sha256));
    const found = anew ? null : await stat(path).catch(() => null);
    if (found?.size === ref.bytes) return utimes(path, new Date(this.#now()), found.mtime);
    const pending = this.#pending.get(ref.sha256);
    if (pending) return pending;
    const fetching = this.#limit(() => this.#fetch(ref, path)).finally(() =>
      this.#pending.delete(ref.sha256),
    );
    this.#pending.set(ref.sha256, fetching);
    return fetching;
  }

  async #fetch(ref: FileRef, path: string): Promise<void> {
    const draft = join(this.#directory, `${DRAFT}${randomUUID()}`);
    try {
      await this.#download(ref, draft);
      await mkdir(dirname(path), { recursive: true });
      await rename(draft, path);
      await syncDirectory(dirname(path));
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  async #download(ref: FileRef, draft: string): Promise<void> {
    const name = objectPath(ref.sha256);
    const content = createHash('sha256');
    const file = await open(draft, 'wx');
    try {
      let bytes = 0;
      await this.#client.read(name, ref.bytes, {}, async (block) => {
        bytes += block.length;
        content.update(block);
        await file.writeFile(block);
      });
      if (bytes !== ref.bytes) throw new OriginError(`${name}: ${bytes} bytes instead of ${ref.bytes}`);
      if (content.digest('hex') !== ref.sha256)
        throw new OriginError(`${name}: another content than its name`);
      await file.sync();
    } finally {
      await file.close();
    }
  }
}
