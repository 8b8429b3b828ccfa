/**
 * What the routes know of money, keys and rate windows. Every decision is one atomic script in Redis; this file is
 * the vocabulary, `redis-metering.ts` the implementation.
 *
 * Guarantees: an admitted request is charged exactly its price, exactly once, also when the reply of Redis was lost;
 * a refusal costs nothing; a revocation or suspension holds from the next request on; no balance goes below zero.
 */

export type Tier = 'anonymous' | 'free' | 'paid';

/** What never changes of a key after it was minted, so it may be cached without end. */
export interface ApiKey {
  key_id: string;
  account_id: string;
  environment: 'live' | 'test';
  scopes: readonly string[];
  /** Unix milliseconds, or null for a key that never expires. */
  expires_at_ms: number | null;
}

/** The rate window that is nearer to running out. */
export interface RateWindow {
  limit: number;
  remaining: number;
  /** Unix seconds at which the window ends. */
  reset_s: number;
}

/** A keyed request whose outcome is known but for money and rate. */
export interface Admission {
  key: ApiKey;
  /** Route template for usage and ledger: `/v1/rankings/{indicator}`. */
  route: string;
  /** Credits; 0 for free routes and for requests that will be refused anyway. */
  price: number;
  /** Observation rows that will be served. */
  rows: number;
  /** The status that is sent when admitted: 200, or the refusal (422, 404, 403) that is counted as an error. */
  status: number;
  request_id: string;
  /** Asks whether the rate allows the request, without counting it unless it does not: it is asked about again. */
  peek?: boolean;
}

/** One charge, as `Metering.refund` needs it. Callers only pass it on. */
export interface Debit {
  readonly debit_id: string;
  /** Credits. */
  readonly price: number;
  /** Unix milliseconds at which it was sent to Redis. */
  readonly at_ms: number;
  readonly account_id: string;
  readonly key_id: string;
  readonly route: string;
  readonly request_id: string;
}

interface QuotaStatus {
  balance: number;
  tier: Tier;
  window: RateWindow;
}

export type Verdict =
  /** `debit` is null at price 0. */
  | ({ kind: 'admitted'; charged: number; debit: Debit | null } & QuotaStatus)
  | ({ kind: 'rate_limited'; retry_after_s: number } & QuotaStatus)
  | ({ kind: 'insufficient_credits' } & QuotaStatus)
  /** Revoked, expired, or the account is suspended or closed. */
  | { kind: 'invalid_key' };

export type AnonymousVerdict = { kind: 'admitted' } | { kind: 'rate_limited'; retry_after_s: number };

export interface UsageCounts {
  requests: number;
  errors: number;
  rows: number;
  credits: number;
}

export interface Wallet {
  balance: number;
  lifetime_granted: number;
  lifetime_spent: number;
}

export interface UsageReport {
  credits: Wallet;
  totals: UsageCounts;
  /** One entry per UTC day, oldest first, zero-filled. */
  daily: ({ date: string } & UsageCounts)[];
  /** Busiest first; ties by route. */
  endpoints: ({ route: string } & UsageCounts)[];
}

/** Redis cannot be asked now; nothing was charged, or the charge will be found by its debit id on a retry. */
export class MeteringUnavailable extends Error {
  override name = 'MeteringUnavailable';
}

/** Whole seconds until a moment, at least one: a client told to wait 0 s would come back too early. */
export const secondsUntil = (end_ms: number, now_ms: number): number =>
  Math.max(1, Math.ceil((end_ms - now_ms) / 1000));

export interface Metering {
  /**
   * The facts of the key in an Authorization header, or null when it is not a well-formed, existing key whose secret
   * matches (state is judged by `admit`). Cached: steady state asks no store.
   * @throws {MeteringUnavailable}
   */
  resolveKey(authorization: string): Promise<ApiKey | null>;
  /**
   * True when this gateway has seen the key over its window and the window has not ended: a caller should then ask
   * `admit` before doing any work. Never wrong in the other direction for long; `admit` has the last word.
   */
  isKnownOverLimit(key: ApiKey): boolean;
  /** Decides and, when admitted, charges and counts. One round trip. @throws {MeteringUnavailable} */
  admit(admission: Admission): Promise<Verdict>;
  /**
   * Gives a debit back because the answer could not be produced after the charge. Writes one `refund` entry to the
   * ledger, however often it is called. Retries in the background while Redis is unreachable. Never rejects.
   */
  refund(debit: Debit): Promise<void>;
  /** Counts an anonymous request of an address (IPv6 by /64). Redis away: admitted, uncounted. */
  admitAddress(address: string): AnonymousVerdict | Promise<AnonymousVerdict>;
  /** How many requests this process has admitted uncounted. */
  readonly uncounted: number;
  /** Balance and usage of an account over the last `days` UTC days, today included. @throws {MeteringUnavailable} */
  usage(accountId: string, days: number): Promise<UsageReport>;
  /** False while Redis cannot be reached: for /readyz. */
  ready(): boolean;
}
