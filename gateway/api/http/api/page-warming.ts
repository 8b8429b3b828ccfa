/**
 * Renders featured pages before anyone asks for them: after a start, and after each switch to another snapshot, of whose
 * pages no cache holds any. One page after the other, with a rest after each, so that calls meanwhile are hardly delayed.
 * Another switch ends a round at once.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Edition } from '../../snapshot/editions/edition.ts';
import type { Snapshot } from '../../snapshot/editions/snapshot.ts';
import type { Snapshots } from '../../snapshot/editions/store.ts';

/** A page by the template of its path and the parameters in it. */
export interface PageAddress {
  /** `/indicators/{indicator_id}` */
  template: string;
  /** As pages link them. */
  parameters: Readonly<Record<string, string>>;
}

/** What tests replace. */
export interface WarmingClock {
  /** Monotonic milliseconds. */
  now(): number;
  /** Resolves after the time, and at once when the signal is aborted. */
  rest(ms: number, signal: AbortSignal): Promise<void>;
}

export const WARMING_CLOCK: WarmingClock = {
  now: () => performance.now(),
  rest: (ms, signal) => delay(ms, undefined, { ref: false, signal }).catch(() => undefined),
};

/** A start has other work to do first. */
const START_REST_MS = 1_000;
/** A rest is so many times as long as the page before took. */
const REST_FACTOR = 3;

interface PageRenderer {
  /** Puts a page into the cache of a snapshot. */
  renderAhead(page: PageAddress, snapshot: Snapshot): Promise<void>;
}

interface WarmingDependencies {
  snapshots: Pick<Snapshots, 'current' | 'onSwitch'>;
  pagesOf: (edition: Edition) => Promise<readonly PageAddress[]>;
  renderer: PageRenderer;
  clock: WarmingClock;
  log: Logger;
}

export class PageWarming {
  readonly #dependencies: WarmingDependencies;
  readonly #stopping = new AbortController();
  #round = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(dependencies: WarmingDependencies) {
    this.#dependencies = dependencies;
  }

  /** Begins a round soon and after each switch. */
  start(): void {
    this.#begin(START_REST_MS);
    this.#dependencies.snapshots.onSwitch(() => this.#begin(0));
  }

  /** Waits for the page that is being rendered. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Ends the round before. Two never render at the same time. */
  #begin(rest_ms: number): void {
    this.#round.abort();
    this.#round = new AbortController();
    const snapshot = this.#dependencies.snapshots.current();
    const signal = AbortSignal.any([this.#round.signal, this.#stopping.signal]);
    if (snapshot === null) return;
    this.#running = this.#running
      .then(() => this.#dependencies.clock.rest(rest_ms, signal))
      .then(() => this.#warm(snapshot, signal));
  }

  async #warm(snapshot: Snapshot, signal: AbortSignal): Promise<void> {
    const { pagesOf, clock, log } = this.#dependencies;
    if (signal.aborted) return;
    const pages = await pagesOf(snapshot).catch((err: unknown) => {
      log.warn({ err, snapshot: snapshot.id }, 'featured pages are unknown');
      return [];
    });
    for (const page of pages) {
      if (signal.aborted) return;
      const begun = clock.now();
      await this.#render(page, snapshot, signal);
      await clock.rest(REST_FACTOR * (clock.now() - begun), signal);
    }
    log.debug({ snapshot: snapshot.id, pages: pages.length }, 'featured pages rendered');
  }

  async #render(page: PageAddress, snapshot: Snapshot, signal: AbortSignal): Promise<void> {
    try {
      await this.#dependencies.renderer.renderAhead(page, snapshot);
    } catch (err) {
      // The files of a snapshot that is no longer served may be closed.
      if (!signal.aborted) this.#dependencies.log.warn({ err, page }, 'featured page was not rendered');
    }
  }
}
