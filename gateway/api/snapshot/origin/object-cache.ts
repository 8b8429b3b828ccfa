/**
 * Keeps objects of history under a limit: what was not used for longest goes first. Objects of the served edition and of
 * the one before stay, and so does what was used a short while ago, because a request may still read it.
 *
 * An object's access time is that of its last use; its modification time tells whether it was changed.
 */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { OBJECTS } from '../../../../data/schema/snapshot.ts';

const SWEEP_EVERY_MS = 10 * 60_000;
const IN_USE_MS = 15 * 60_000;

export interface ObjectCacheOptions {
  /** SNAPSHOT_DIR. */
  directory: string;
  /** For objects of history. */
  most_bytes: number;
  now: () => number;
}

interface Cached {
  path: string;
  bytes: number;
  used_ms: number;
}

export class ObjectCache {
  readonly #options: ObjectCacheOptions;
  /** Hashes of the served edition, then of the one before. */
  #protected: ReadonlySet<string>[] = [];
  #swept_ms = Number.NEGATIVE_INFINITY;

  constructor(options: ObjectCacheOptions) {
    this.#options = options;
  }

  /** @param objects hashes of the edition that is served from now on. */
  protect(objects: ReadonlySet<string>): void {
    this.#protected = [objects, ...this.#protected].slice(0, 2);
  }

  async evictWhenDue(): Promise<void> {
    if (this.#options.now() - this.#swept_ms < SWEEP_EVERY_MS) return;
    this.#swept_ms = this.#options.now();
    await this.evict();
  }

  /** @returns the number of removed objects. */
  async evict(): Promise<number> {
    // Without a served edition nothing is known to be history.
    if (this.#protected.length === 0) return 0;
    const history = await this.#history();
    let bytes = history.reduce((sum, one) => sum + one.bytes, 0);
    let removed = 0;
    for (const one of history.sort((a, b) => a.used_ms - b.used_ms)) {
      if (bytes <= this.#options.most_bytes) break;
      if (this.#options.now() - one.used_ms < IN_USE_MS) break;
      await rm(one.path, { force: true });
      bytes -= one.bytes;
      removed += 1;
    }
    return removed;
  }

  async #history(): Promise<Cached[]> {
    const root = join(this.#options.directory, OBJECTS);
    const history: Cached[] = [];
    for (const folder of await readdir(root).catch(() => [])) {
      for (const name of await readdir(join(root, folder))) {
        if (this.#protected.some((objects) => objects.has(name))) continue;
        const path = join(root, folder, name);
        const file = await stat(path).catch(() => null);
        if (file) history.push({ path, bytes: file.size, used_ms: file.atimeMs });
      }
    }
    return history;
  }
}
