/**
 * When to retry a request and how long to wait before: exponential backoff with full jitter, or Retry-After where that
 * is longer. A Retry-After beyond the limit ends the attempts.
 */
import { setTimeout as wait } from 'node:timers/promises';

export interface RetryOptions {
  attempts: number;
  /** Upper bound of the first delay; it doubles with each attempt. */
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

/** A failure that a retry may resolve. */
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

/** Parses Retry-After (seconds or a date) into milliseconds from now; null when absent or malformed. */
export function retryAfterMs(header: string | null, now: number): number | null {
  if (header === null) return null;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isFinite(date) ? Math.max(0, date - now) : null;
}

/** The delay after a failed attempt (counted from 0); null when no further attempt is made. */
export function retryDelayMs(failure: TransientError, attempt: number, options: RetryOptions): number | null {
  if (attempt + 1 >= options.attempts) return null;
  const requested = retryAfterMs(failure.retryAfter, options.now()) ?? 0;
  if (requested > options.maxRetryAfterMs) return null;
  const ceiling = Math.min(options.maxDelayMs, options.baseDelayMs * 2 ** attempt);
  return Math.max(requested, Math.round(options.random() * ceiling));
}
