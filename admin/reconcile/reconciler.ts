/**
 * Reconciliation of all accounts over archive and live ledger: one reading at a time, in the background of whoever
 * asked, its outcome kept until the next.
 *
 * Every account is held against the sums of the archive first. One with which something seems wrong is looked at again,
 * by itself: what Redis says of it, and only then the archive, part by part, so that what moves from one to the other
 * meanwhile is no false alarm. What is found then is named.
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { ArchiveEngine } from '../../gateway/archive/engine.ts';
import { Reading, type ReconcileProgress, type ReconcileSources, type Reconciliation } from './reading.ts';

const MEMORY_MB = 512;
const QUESTION_AT_MOST_MS = 300_000;

export class Reconciler {
  readonly #sources: ReconcileSources;
  readonly #log: Logger;
  #last: Reconciliation | null = null;
  #running: Promise<void> | null = null;
  #readings = 0;
  #progress: ReconcileProgress = { what: 'accounts', done: 0, total: 0 };

  constructor(sources: ReconcileSources, log: Logger) {
    this.#sources = sources;
    this.#log = log;
  }

  /** The outcome of the last whole reading; null before the first. */
  get last(): Reconciliation | null {
    return this.#last;
  }

  /** How far a reading is that has not ended; null when there is none. */
  get progress(): ReconcileProgress | null {
    return this.#running ? this.#progress : null;
  }

  /** Reads everything anew, or joins a reading that is under way; waits for it, but not longer than `patience_ms`. */
  async refresh(patience_ms: number): Promise<void> {
    this.#running ??= this.#read()
      .catch((error: unknown) => this.#log.error({ err: error }, 'reconciliation failed'))
      .finally(() => {
        this.#running = null;
      });
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((settle) => {
      timer = setTimeout(settle, patience_ms);
      timer.unref();
    });
    await Promise.race([this.#running, patience]);
    clearTimeout(timer);
  }

  async #read(): Promise<void> {
    const engine = new ArchiveEngine({
      memoryMb: MEMORY_MB,
      // One core is left to those who are being served meanwhile.
      threads: Math.max(1, availableParallelism() - 1),
      timeoutMs: QUESTION_AT_MOST_MS,
      scratch: join(this.#sources.workDir, 'scratch'),
    });
    const reading = new Reading(this.#sources, engine, this.#readings++, (progress) => {
      this.#progress = progress;
    });
    try {
      this.#last = await reading.run();
    } finally {
      await engine.close();
    }
  }
}
