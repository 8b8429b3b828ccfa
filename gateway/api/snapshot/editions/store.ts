/**
 * Follows the pointer to the published snapshot: opens a new one beside the old and switches between two requests.
 *
 * A snapshot whose lists, catalogue or whole bodies do not match their hashes is refused and logged, and the old one
 * stays. The pointer is polled, because file watching does not work on every file system. Files of the open snapshot that
 * disappeared or were damaged are looked at again at each poll.
 */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { WITHHELD } from '../../../../data/runtime/withheld.ts';
import { CURRENT_POINTER, SNAPSHOT_ID } from '../../../../data/schema/snapshot.ts';
import { ParsedObjects } from '../files/memory.ts';
import { PublicationLogFile } from '../files/publication-log.ts';
import type { SharedParts } from '../files/shared-parts.ts';
import { type ObjectOrigin, Objects } from '../files/snapshot-files.ts';
import { ObservationCache } from '../rows/observations.ts';
import { QueryRunner } from '../rows/query-runner.ts';
import { Snapshot } from './snapshot.ts';

/** A refused snapshot may be a copy in progress: it is opened again after this many polls. */
const POLLS_UNTIL_RETRY = 60;
const MEGABYTE = 1024 * 1024;

/** The store as those see it who only use what it serves. */
export type Snapshots = Pick<SnapshotStore, 'current' | 'fault' | 'damages' | 'onSwitch' | 'close'>;

export interface StoreOptions {
  /** Directory of snapshots and pointer. */
  directory: string;
  pollMs: number;
  /** Memory for hot indicators, in MB. */
  hotCacheMb: number;
  queryTimeoutMs: number;
  /** Number of processes that share this memory equally. Default 1. */
  processCount?: number;
  log: Logger;
  /** Where objects come from that are not in the directory. Default: it holds all. */
  origin?: ObjectOrigin;
}

export class SnapshotStore {
  readonly #options: StoreOptions;
  readonly #shared: SharedParts;
  readonly #listeners: (() => void)[] = [];
  #current: Snapshot | null = null;
  /** The snapshot refused last, so that it is not read at every poll. */
  #refused: { id: string; pollsLeft: number } | null = null;
  #loggedFault: string | null = null;
  /** Of `withheld.json`; null without one. */
  #withheldStamp: string | null = null;
  #damages = 0;
  #timer: NodeJS.Timeout | null = null;
  #checking: Promise<void> | null = null;
  #closed = false;

  private constructor(options: StoreOptions, shared: SharedParts) {
    this.#options = options;
    this.#shared = shared;
  }

  /** Opens the snapshot that the pointer names, if any, and starts polling. */
  static async open(options: StoreOptions): Promise<SnapshotStore> {
    const { directory, log, hotCacheMb, queryTimeoutMs, processCount = 1 } = options;
    const queries = await QueryRunner.open(queryTimeoutMs, processCount);
    const observations = new ObservationCache(queries, (hotCacheMb * MEGABYTE) / processCount);
    const store = new SnapshotStore(options, {
      directory,
      objects: new Objects(directory, options.origin, ({ sha256 }) => {
        store.#damages += 1;
        log.error({ object: sha256 }, 'published file has another content');
      }),
      parsed: new ParsedObjects(),
      onUnreadable: (file, ref) => {
        observations.forget(ref);
        store.#current?.rankings.clear();
        store.#current?.editions.close();
        log.error({ file, object: ref.sha256 }, 'published file cannot be read');
      },
      queries,
      observations,
      processCount,
      log,
      signedLog: new PublicationLogFile(directory),
    });
    await store.check();
    store.#follow();
    return store;
  }

  /** The snapshot that is served, or null while there is none. */
  current(): Snapshot | null {
    return this.#current;
  }

  /** Files that this process has found to have another content than published. */
  get damages(): number {
    return this.#damages;
  }

  /** Why some calls cannot be answered, as a sentence; null while all can. Looks for the files of the snapshot. */
  async fault(): Promise<string | null> {
    if (this.#current === null) return 'No snapshot is open.';
    const fault = await this.#current.fault();
    return fault ?? (this.#shared.signedLog.error && 'The log of editions cannot be read.');
  }

  /** @param listener called after each switch to another snapshot */
  onSwitch(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Checks the pointer now; concurrent callers share one check. Never rejects. */
  check(): Promise<void> {
    this.#checking ??= this.#checkPointer().finally(() => {
      this.#checking = null;
    });
    return this.#checking;
  }

  /** Hashes a file of the served snapshot that another process found to be damaged. */
  async verifyFile(name: string): Promise<void> {
    await this.#current?.files.verify(name);
  }

  /** Stops polling and retires the current snapshot. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#checking;
    this.#current?.retire();
    this.#current = null;
    this.#shared.queries.close();
  }

  #follow(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => this.check().then(() => this.#follow()), this.#options.pollMs);
    this.#timer.unref();
  }

  async #checkPointer(): Promise<void> {
    const { directory, log } = this.#options;
    await this.#checkCurrent();
    const id = await readPointer(directory);
    // After the pointer: the log is written before it.
    await this.#shared.signedLog.check();
    const { entries } = this.#shared.signedLog;
    this.#current?.editions.update(entries);
    await this.#checkWithheld();
    if (id === null || id === this.#current?.id || this.#isRefused(id)) return;
    try {
      this.#switchTo(await Snapshot.open(id, this.#shared, entries));
      this.#refused = null;
    } catch (error) {
      this.#refused = { id, pollsLeft: POLLS_UNTIL_RETRY };
      log.error({ snapshot: id, err: error, serving: this.#current?.id ?? null }, 'snapshot refused');
    }
  }

  /** Open editions read the lists that were in force when they were opened. */
  async #checkWithheld(): Promise<void> {
    const file = await stat(join(this.#options.directory, WITHHELD)).catch(() => null);
    const stamp = file && `${file.size} ${file.mtimeMs} ${file.ino}`;
    if (stamp !== this.#withheldStamp) this.#current?.editions.close();
    this.#withheldStamp = stamp;
  }

  /** Looks again at files that were missing or damaged. Logs each new fault. */
  async #checkCurrent(): Promise<void> {
    if (this.#current === null) return;
    await this.#current.recheck();
    const fault = await this.fault();
    if (fault !== null && fault !== this.#loggedFault)
      this.#options.log.error({ fault }, 'snapshot is incomplete');
    this.#loggedFault = fault;
  }

  #isRefused(id: string): boolean {
    if (this.#refused?.id !== id) return false;
    this.#refused.pollsLeft -= 1;
    return this.#refused.pollsLeft > 0;
  }

  #switchTo(next: Snapshot): void {
    if (this.#closed) return;
    const before = this.#current;
    this.#current = next;
    before?.retire();
    // The start-up banner says what a start opened.
    const level = this.#timer ? 'info' : 'debug';
    this.#options.log[level]({ snapshot: next.id, before: before?.id ?? null }, 'snapshot open');
    for (const listener of this.#listeners) listener();
  }
}

/** The id that the pointer names; null without a valid pointer. */
async function readPointer(directory: string): Promise<string | null> {
  const text = await readFile(join(directory, CURRENT_POINTER), 'utf8').catch(() => '');
  const id = text.trim();
  return SNAPSHOT_ID.test(id) ? id : null;
}
