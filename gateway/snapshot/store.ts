/**
 * Follows the published pointer: opens a new snapshot beside the old one and switches between two requests.
 *
 * A snapshot that does not match its manifest is refused and reported, and the old one stays. The pointer is
 * read again and again rather than watched: that works on every file system a snapshot directory may lie on.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { CURRENT_POINTER, SNAPSHOT_ID } from '../../data/schema/snapshot.ts';
import { Snapshot, type SnapshotOptions } from './snapshot.ts';

/** A copy may still be under way when its pointer arrives: a refused snapshot is looked at again, but rarely. */
const LOOKS_UNTIL_RETRY = 60;

export interface Snapshots {
  /** The snapshot that answers now, or null while there is none. A request retains what it got. */
  current(): Snapshot | null;
  /** Stops following and retires the current one. */
  close(): Promise<void>;
}

export interface StoreOptions extends SnapshotOptions {
  /** Directory of the published snapshots and their pointer. */
  directory: string;
  pollMs: number;
  log: Logger;
  /** Told after each switch, so that others who follow the same pointer look at once. */
  onSwitch?: () => void;
}

export class SnapshotStore implements Snapshots {
  readonly #options: StoreOptions;
  #current: Snapshot | null = null;
  /** The id that was refused last, so that it is not hashed again at every look. */
  #refused: { id: string; looksLeft: number } | null = null;
  #timer: NodeJS.Timeout | null = null;
  #checking: Promise<void> | null = null;
  #closed = false;

  private constructor(options: StoreOptions) {
    this.#options = options;
  }

  /** Opens what the pointer names, if anything, and goes on following it. */
  static async open(options: StoreOptions): Promise<SnapshotStore> {
    const store = new SnapshotStore(options);
    await store.check();
    store.#follow();
    return store;
  }

  current(): Snapshot | null {
    return this.#current;
  }

  /** Looks at the pointer now; several callers share one look. Never rejects. */
  check(): Promise<void> {
    this.#checking ??= this.#look().finally(() => {
      this.#checking = null;
    });
    return this.#checking;
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#checking;
    this.#current?.retire();
    this.#current = null;
  }

  #follow(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => this.check().then(() => this.#follow()), this.#options.pollMs);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    const { directory, log } = this.#options;
    const id = await readPointer(directory);
    if (id === null || id === this.#current?.id || this.#isRefused(id)) return;
    try {
      this.#switchTo(await Snapshot.open(directory, id, this.#options));
      this.#refused = null;
    } catch (error) {
      this.#refused = { id, looksLeft: LOOKS_UNTIL_RETRY };
      log.error({ snapshot: id, err: error, serving: this.#current?.id ?? null }, 'snapshot refused');
    }
  }

  #isRefused(id: string): boolean {
    if (this.#refused?.id !== id) return false;
    this.#refused.looksLeft -= 1;
    return this.#refused.looksLeft > 0;
  }

  #switchTo(next: Snapshot): void {
    if (this.#closed) {
      next.retire();
      return;
    }
    const before = this.#current;
    this.#current = next;
    before?.retire();
    this.#options.onSwitch?.();
    this.#options.log.info({ snapshot: next.id, before: before?.id ?? null }, 'snapshot open');
  }
}

/** The id that the pointer names; null when there is no pointer or it holds something else. */
async function readPointer(directory: string): Promise<string | null> {
  const text = await readFile(join(directory, CURRENT_POINTER), 'utf8').catch(() => '');
  const id = text.trim();
  return SNAPSHOT_ID.test(id) ? id : null;
}
