/** What metering is asked and what it answers: keys, admissions, debits, verdicts and usage. */

export type Tier = 'anonymous' | 'free' | 'paid';

/** The properties of an API key that never change after it was minted, so they are cached without expiry. */
export interface ApiKey {
  /** That of the connection, where this is an access token. */
  key_id: string;
  account_id: string;
  /** `mcp`: an access token, valid at `/mcp` alone. */
  environment: 'live' | 'test' | 'mcp';
  scopes: readonly string[];
  /** Unix milliseconds, or null for a key that never expires. */
  expires_at_ms: number | null;
}

/** What a process knows of a key without asking Redis; see `keys.ts`. It may be outdated: only an admission decides. */
export type KeyStanding = 'confirmed' | 'unconfirmed' | 'refused' | 'suspended';

export interface RateWindow {
  limit: number;
  remaining: number;
  /** Unix seconds at which the window ends. */
  reset_s: number;
  /** Whole seconds until then, at least one. */
  ends_in_s: number;
}

export interface RateWindows {
  minute: RateWindow;
  day: RateWindow;
}

/** Where a call comes from. Read only for keys that are bound to address ranges or origins. */
export interface CallSource {
  /** The caller's network address. */
  address(): string;
  /** The `Origin` header that a browser sends; undefined without one. */
  origin(): string | undefined;
}

/** A keyed request that is ready to be charged. */
export interface Admission {
  key: ApiKey;
  source: CallSource;
  /** Route template for usage and ledger: `/v1/rankings/{indicator}`. */
  route: string;
  /** Credits; 0 for free routes and for requests that will be rejected anyway. */
  price: number;
  /** Observation rows that will be served. */
  rows: number;
  /** The status that is sent when admitted: 200, or an error (422, 404, 403) that costs nothing and is counted. */
  status: number;
  request_id: string;
  /** Whose figures are served, for the ledger. */
  indicators?: readonly string[] | undefined;
  /** Only for a call with an Idempotency-Key. */
  idempotency?:
    | { key: string; fingerprint: string /** Id of the one that answers. */; edition: string }
    | undefined;
  /** Only for a call for a file; for a peek, only its pin is read. */
  file?: FileAdmission | undefined;
  /** Only for a fetch of a feed link: the key's rules of addresses and origins do not hold. */
  feed?: FeedAdmission | undefined;
  /**
   * Only checks the key, its rate windows and whether the price can be paid, and charges nothing. The request is counted when it is
   * rejected; otherwise by the call that follows.
   */
  peek?: boolean;
}

/**
 * A file is paid by lease: the price of the first call covers others for the same content for a day, up to so many bytes.
 * Meanwhile its URL is answered from one edition, by a pin.
 */
export interface FileAdmission {
  /** Names the file in its URL; null where the URL names the edition, too, so that nothing is to be pinned. */
  pin: string | null;
  /** What is asked of the lease; absent for a peek. */
  lease?: LeaseTerms;
}

/** A fetch of a feed link, which pays once for each content. */
export interface FeedAdmission {
  feed_id: string;
  /** Digest of the rows; empty where nothing is served, as for a peek. */
  content: string;
  /** Id of the edition that answers. */
  edition: string;
  /** That will be sent. */
  bytes: number;
  /** Admits only what is paid. */
  isPaidOnly: boolean;
}

export interface LeaseTerms {
  /** SHA-256 of the content. */
  object: string;
  /** Id of the edition that answers. */
  edition: string;
  /** That will be sent. */
  bytes: number;
  /** Bytes that a lease covers. */
  allowance: number;
  /** The edition is that of the pin: without a lease that covers the call, the verdict is `lease_over`. */
  follows: boolean;
  /** Only asks whether a lease covers the call, which is free in any case. */
  looks: boolean;
  /** Most that a new lease may cost. */
  max_credits?: number | undefined;
}

/** One charge, as `refund` needs it. Callers only pass it on. */
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
  /** As the ledger names them; empty for none. */
  readonly indicators: string;
  /** Under which the call may be repeated. */
  readonly idempotency_key?: string | undefined;
  /** SHA-256 of the file of which it began a lease. */
  readonly leased?: string | undefined;
  /** The feed link that pays. */
  readonly feed_id?: string | undefined;
}

interface QuotaStatus {
  balance: number;
  tier: Tier;
  /** The one with fewer requests left; the day when both have as many, because it keeps a caller waiting longer. */
  window: RateWindow;
  windows: RateWindows;
}

/** What a verdict says of a call for a file. */
interface FileStatus {
  /** For a peek: the edition from which its URL is answered. */
  pinned?: string;
  /** A lease covers the call. */
  isLeased?: true;
}

export type Verdict =
  /**
   * `debit` is null where nothing was charged. `repeatOf` is the edition of the first call when this one repeats it under
   * its Idempotency-Key: then it is free.
   */
  | ({ kind: 'admitted'; charged: number; debit: Debit | null; repeatOf?: string } & FileStatus & QuotaStatus)
  | ({ kind: 'rate_limited'; retry_after_s: number } & QuotaStatus)
  | ({ kind: 'insufficient_credits' } & QuotaStatus)
  /** `limit` is the key's, `used` what was charged to it in this UTC month. */
  | ({ kind: 'key_limit_reached'; limit: number; used: number } & QuotaStatus)
  /** A file of which there is no lease costs more than the call allows. */
  | ({ kind: 'max_credits_exceeded' } & QuotaStatus)
  /** No lease covers the edition that is followed: the call is to be planned anew. It is not counted. */
  | ({ kind: 'lease_over' } & QuotaStatus)
  /** The cap of the feed link does not allow the price, or only what is paid was asked for. */
  | ({ kind: 'feed_unpaid' } & QuotaStatus)
  /** The feed link has sent as many bytes in this UTC day as it may. */
  | ({ kind: 'feed_bytes_reached' } & QuotaStatus)
  /** The feed link was revoked or has expired. */
  | { kind: 'feed_over' }
  /** Another call was made under the same Idempotency-Key. */
  | ({ kind: 'idempotency_conflict' } & QuotaStatus)
  /** The key is bound to address ranges or to origins, and the call comes from elsewhere. */
  | { kind: 'restricted'; by: KeyRestriction }
  /** Revoked, expired, or the account is closed, or suspended. */
  | { kind: 'invalid_key'; isSuspended: boolean };

export type KeyRestriction = 'address' | 'origin';

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

/** Redis did not answer. Nothing was charged, or the charge will be reversed. */
export class MeteringUnavailable extends Error {
  override name = 'MeteringUnavailable';
}
