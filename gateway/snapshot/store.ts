/**
 * Follows the pointer to the published snapshot: opens a new one beside the old and switches between two requests.
 *
 * A snapshot that does not match its manifest is refused and logged, and the old one stays. The pointer is polled, because
 * file watching does not work on every file system. An open snapshot whose files disappeared is verified and opened again
 * once they are back.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { CURRENT_POINTER, SNAPSHOT_ID } from '../../data/schema/snapshot.ts';
import { Snapshot, type SnapshotOptions } from './snapshot.ts';

/** A refused snapshot may be a copy in progress: it is verified again after this many polls. */
const POLLS_UNTIL_RETRY = 60;

export interface Snapshots {
  /** The snapshot that is served, or null while there is none. A caller that waits retains it. */
  current(): Snapshot | null;
  /** Why some calls cannot be answered, as a sentence; null while all can. Looks for the files of the snapshot. */
  fault(): Promise<string | null>;
  /** Stops polling and retires the current snapshot. */
  close(): Promise<void>;
}

export interface StoreOptions extends SnapshotOptions {
  /** Directory of snapshots and pointer. */
  directory: string;
  pollMs: number;
  log: Logger;
  /** Called after each switch, so that other processes check the pointer at once. */
  onSwitch?: () => void;
}

export class SnapshotStore implements Snapshots {
  readonly #options: StoreOptions;
  #current: Snapshot | null = null;
  /** The snapshot refused last, so that it is not hashed at every poll. */
  #refused: { id: string; pollsLeft: number } | null = null;
  #loggedFault: string | null = null;
  #timer: NodeJS.Timeout | null = null;
  #checking: Promise<void> | null = null;
  #closed = false;

  private constructor(options: StoreOptions) {
    this.#options = options;
  }

  /** Opens the snapshot that the pointer names, if any, and starts polling. */
  static async open(options: StoreOptions): Promise<SnapshotStore> {
    const store = new SnapshotStore(options);
    await store.check();
    store.#follow();
    return store;
  }

  current(): Snapshot | null {
    return this.#current;
  }

  async fault(): Promise<string | null> {
    return this.#current === null ? 'No snapshot is open.' : this.#current.fault();
  }

  /** Checks the pointer now; concurrent callers share one check. Never rejects. */
  check(): Promise<void> {
    this.#checking ??= this.#checkPointer().finally(() => {
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

  async #checkPointer(): Promise<void> {
    const { directory, log } = this.#options;
    const isCurrentSound = await this.#isCurrentSound();
    const id = await readPointer(directory);
    if (id === null || (id === this.#current?.id && isCurrentSound) || this.#isRefused(id)) return;
    try {
      this.#switchTo(await Snapshot.open(directory, id, this.#options));
      this.#refused = null;
    } catch (error) {
      this.#refused = { id, pollsLeft: POLLS_UNTIL_RETRY };
      log.error({ snapshot: id, err: error, serving: this.#current?.id ?? null }, 'snapshot refused');
    }
  }

  /** False once files that were missing or unreadable can be looked at again. Logs each new fault. */
  async #isCurrentSound(): Promise<boolean> {
    if (this.#current === null) return true;
    const fault = await this.#current.fault();
    if (fault !== null && fault !== this.#loggedFault)
      this.#options.log.error({ fault }, 'snapshot is incomplete');
    this.#loggedFault = fault;
    return fault === null || !(await this.#current.isPresent());
  }

  #isRefused(id: string): boolean {
    if (this.#refused?.id !== id) return false;
    this.#refused.pollsLeft -= 1;
    return this.#refused.pollsLeft > 0;
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

/** The id that the pointer names; null without a valid pointer. */
async function readPointer(directory: string): Promise<string | null> {
  const text = await readFile(join(directory, CURRENT_POINTER), 'utf8').catch(() => '');
  const id = text.trim();
  return SNAPSHOT_ID.test(id) ? id : null;
}
