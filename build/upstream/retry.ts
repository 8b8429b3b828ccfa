/**
 * When to ask a server again, and how long to wait before: exponential backoff with full jitter, or what the server
 * says in Retry-After when that is longer. A server that wants us to wait for very long is not asked again tonight.
 */
import { setTimeout as wait } from 'node:timers/promises';

export interface RetryOptions {
  attempts: number;
  /** Upper bound of the first wait; it doubles each time. */
  baseDelayMs: number;
  maxDelayMs: number;
  /** A longer Retry-After ends the attempts. */
  maxRetryAfterMs: number;
  now: () => number;
  /** 0 ≤ random < 1. */
  random: () => number;
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

export const RETRY_DEFAULTS: RetryOptions = {
  attempts: 5,
  baseDelayMs: 500,
  maxDelayMs: 30_000,
  maxRetryAfterMs: 120_000,
  now: Date.now,
  random: Math.random,
  sleep: (ms, signal) => wait(ms, undefined, { signal }),
};

/** A failure that may go away by itself. */
export class TransientError extends Error {
  override name = 'TransientError';
  readonly retryAfter: string | null;
  readonly status: number | null;
  constructor(message: string, status: number | null, retryAfter: string | null, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

export const isTransientStatus = (status: number): boolean =>
  status === 408 || status === 429 || status >= 500;

/** Retry-After in milliseconds from now: seconds or a date; null when absent or unreadable. */
export function retryAfterMs(header: string | null, now: number): number | null {
  if (header === null) return null;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isFinite(date) ? Math.max(0, date - now) : null;
}

/** How long to wait after the given failed attempt (counted from 0); null when it is not worth waiting. */
export function retryDelayMs(failure: TransientError, attempt: number, options: RetryOptions): number | null {
  if (attempt + 1 >= options.attempts) return null;
  const asked = retryAfterMs(failure.retryAfter, options.now()) ?? 0;
  if (asked > options.maxRetryAfterMs) return null;
  const ceiling = Math.min(options.maxDelayMs, options.baseDelayMs * 2 ** attempt);
  return Math.max(asked, Math.round(options.random() * ceiling));
}
