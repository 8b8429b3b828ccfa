/**
 * Bounds what readers who take their answer slowly can hold: memory and time.
 *
 * An answer that the system did not take whole keeps its bytes until the reader has it, and its connection. Bytes that many
 * readers share are counted for each: the bound errs on the safe side.
 *
 * - Nobody may take longer than a minute and a second for every 4 KB: who reads a byte a second is cut off. Who takes
 *   nothing at all for a minute is, too.
 * - When all unfinished answers together exceed the budget, those that have lasted longest are cut off, but none that is
 *   younger than five seconds: many quick readers are no attack.
 */
import type { ServerResponse } from 'node:http';

export interface SlowClientLimits {
  budget_bytes: number;
  grace_ms: number;
  least_bytes_per_s: number;
  idle_ms: number;
  young_ms: number;
}

/** A reader who takes nothing for this long is cut off. */
export const IDLE_MS = 60_000;

const READER_LIMITS: SlowClientLimits = {
  budget_bytes: 256 * 1024 * 1024,
  grace_ms: 60_000,
  least_bytes_per_s: 4 * 1024,
  idle_ms: IDLE_MS,
  young_ms: 5_000,
};

interface Unfinished {
  bytes: number;
  since_ms: number;
}

export class SlowClients {
  readonly #limits: SlowClientLimits;
  readonly #now: () => number;
  /** Oldest first. */
  readonly #unfinished = new Map<ServerResponse, Unfinished>();
  #bytes = 0;

  /** @param now monotonic milliseconds. */
  constructor(limits: SlowClientLimits = READER_LIMITS, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** What unfinished answers hold. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Watches an answer that was handed over, until it is finished. @param bytes what it holds while it is not. */
  watch(raw: ServerResponse, bytes: number): void {
    // What the system has taken already is no concern of ours.
    if (raw.writableEnded && raw.writableLength === 0) return;
    const { grace_ms, least_bytes_per_s, idle_ms } = this.#limits;
    this.#bytes += bytes;
    this.#unfinished.set(raw, { bytes, since_ms: this.#now() });
    const timer = setTimeout(() => raw.destroy(), grace_ms + (bytes / least_bytes_per_s) * 1000).unref();
    raw.setTimeout(idle_ms);
    raw.once('close', () => {
      clearTimeout(timer);
      this.#unfinished.delete(raw);
      this.#bytes -= bytes;
    });
    if (this.#bytes > this.#limits.budget_bytes) this.#cutOldest();
  }

  #cutOldest(): void {
    const { budget_bytes, young_ms } = this.#limits;
    const old_ms = this.#now() - young_ms;
    let excess = this.#bytes - budget_bytes;
    for (const [raw, { bytes, since_ms }] of this.#unfinished) {
      if (excess <= 0 || since_ms > old_ms) return;
      raw.destroy();
      excess -= bytes;
    }
  }
}

/** Those of this process. */
export const slowClients = new SlowClients();
