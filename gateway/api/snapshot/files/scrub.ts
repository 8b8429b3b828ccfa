/**
 * Hashes the files of the served snapshot in the background, one after another at a bounded rate, again and again. A file
 * found to be damaged is refused from then on (see `SnapshotFiles`).
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Snapshot } from '../editions/snapshot.ts';
import type { Snapshots } from '../editions/store.ts';

export interface ScrubOptions {
  snapshots: Pick<Snapshots, 'current'>;
  /** Called with the name of each file found to be damaged or missing. */
  onDamage: (file: string) => void;
  /** Resolves after a time, or at once when the signal aborts. */
  wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** A gigabyte in eight minutes, at 1 % of a core. */
const BYTES_PER_MS = 2 * 1024;
/** What opening a file counts as. */
const FILE_BYTES = 4 * 1024;
/** Read without a pause. */
const BURST_BYTES = 256 * 1024;
/** Before each pass, also the first: a start reads no file that nobody asks for. */
const REST_MS = 60_000;

const waitUnlessStopped = (ms: number, signal: AbortSignal): Promise<void> =>
  pause(ms, undefined, { signal, ref: false }).catch(() => {});

export class Scrub {
  readonly #options: Required<ScrubOptions>;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  /** Bytes read since the last pause. */
  #read = 0;

  /** The first pass begins after a rest. */
  constructor(options: ScrubOptions) {
    this.#options = { wait: waitUnlessStopped, ...options };
    this.#running = this.#run();
  }

  /** Resolves once it has ended. */
  stop(): Promise<void> {
    this.#stopping.abort();
    return this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    for (;;) {
      await this.#options.wait(REST_MS, signal);
      if (signal.aborted) return;
      const snapshot = this.#options.snapshots.current();
      if (snapshot !== null) await this.#pass(snapshot);
    }
  }

  /** Ends early when another snapshot is served. */
  async #pass(snapshot: Snapshot): Promise<void> {
    for (const [name] of snapshot.files.all()) {
      if (this.#stopping.signal.aborted || snapshot.isRetired) return;
      await this.#pace(FILE_BYTES);
      if (!(await snapshot.files.verify(name, (bytes) => this.#pace(bytes)))) this.#options.onDamage(name);
    }
  }

  async #pace(bytes: number): Promise<void> {
    this.#read += bytes;
    if (this.#read < BURST_BYTES) return;
    const ms = this.#read / BYTES_PER_MS;
    this.#read = 0;
    await this.#options.wait(ms, this.#stopping.signal);
  }
}
