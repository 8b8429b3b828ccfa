/**
 * Hashes the files of the served snapshot in the background, one after another, in one slow round a day: a file that was
 * sound when it was first opened may be damaged later. A damaged file is refused from then on (see `SnapshotFiles`).
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Snapshots } from '../editions/store.ts';

export interface ScrubOptions {
  snapshots: Pick<Snapshots, 'current'>;
  /** Called with the name of each file found to be damaged or missing. */
  onDamage: (file: string) => void;
  /** Resolves after a time, or at once when the signal aborts. */
  wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const ROUND_MS = 86_400_000;
/** Between two looks for a snapshot, while there is none. */
const LOOK_EVERY_MS = 60_000;

const waitUnlessStopped = (ms: number, signal: AbortSignal): Promise<void> =>
  pause(ms, undefined, { signal, ref: false }).catch(() => {});

export class Scrub {
  readonly #options: Required<ScrubOptions>;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: ScrubOptions) {
    this.#options = { wait: waitUnlessStopped, ...options };
    this.#running = this.#run();
  }

  /** Resolves once it has ended. */
  stop(): Promise<void> {
    this.#stopping.abort();
    return this.#running;
  }

  /** Waits before each file, so a start reads no file that nobody asks for. A round goes on when the snapshot changes. */
  async #run(): Promise<void> {
    const { snapshots, onDamage, wait } = this.#options;
    const { signal } = this.#stopping;
    const hashed = new Set<string>();
    while (!signal.aborted) {
      const snapshot = snapshots.current();
      const names = new Map(snapshot?.files.all().map(([name, { sha256 }]) => [sha256, name]));
      const due = [...names].filter(([sha256]) => !hashed.has(sha256));
      if (due.length === 0) hashed.clear();
      if (names.size === 0) await wait(LOOK_EVERY_MS, signal);
      for (const [sha256, name] of due) {
        await wait(ROUND_MS / names.size, signal);
        if (signal.aborted || snapshot === null || snapshot.isRetired) break;
        hashed.add(sha256);
        if (!(await snapshot.files.verify(name))) onDamage(name);
      }
    }
  }
}
