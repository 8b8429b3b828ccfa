/** A call of an operation, as an adapter makes it. */

import type { ApiKey, LiveFeed } from '../metering/metering.ts';
import type { Content, Operation, ParameterReading, WholeFile } from '../operations/operations.ts';
import type { Edition, Snapshot } from '../snapshot/snapshot.ts';

/** What an adapter asks for, and how it renders the result. */
export interface Call<Rendered> {
  operation: Operation;
  /** Names the operation in usage and ledger, for example `/v1/data`. */
  route: string;
  requestId: string;
  /** The `Authorization` header or its equivalent; undefined for an anonymous call. */
  authorization: string | undefined;
  /** Whether access tokens of connections are valid here, beside keys. */
  readonly takesTokens?: boolean;
  /** A fetch of a feed link, in place of `authorization`. */
  readonly feed?: FeedFetch<Rendered>;
  /** Path parameters, decoded. */
  path: Readonly<Record<string, string>>;
  /** The caller's network address, for the anonymous rate window and for keys that are bound to address ranges. */
  address(): string;
  /** The `Origin` header that a browser sends, or its equivalent; for keys that are bound to origins. */
  origin(): string | undefined;
  readQuery(): ParameterReading<unknown>;
  /** Where callers reach the service, without a slash at its end. */
  readonly publicUrl: string;
  /** Asks for a part of the answer. */
  readonly asksForPart?: boolean;
  /** How many bytes of a file will be sent: none where its head is enough. Absent: all. */
  bytesOf?(file: WholeFile): number | 'unsatisfiable';
  /** Under what the call may be repeated without paying twice, if the caller wants that; priced operations only. */
  readonly repeatable?: RepeatableAs | null;
  /** A rendering of the same answer made before; null for operations that are not cacheable. */
  cached(snapshot: Snapshot): Rendered | null;
  /**
   * Runs after the charge. May throw: the charge is then refunded.
   * @param snapshot the served one. @param edition the one that answers, where `as_of` was sent.
   */
  render(content: Content, snapshot: Snapshot, edition: Edition | undefined): Rendered | Promise<Rendered>;
}

export interface FeedFetch<Rendered> {
  link: LiveFeed;
  key: ApiKey;
  /** What is served. Made before the charge, because it is paid by its content. */
  make(content: Content, edition: Pick<Edition, 'id'> | undefined): Promise<MadeFeed<Rendered>>;
}

export interface MadeFeed<Rendered> {
  rendered: Rendered;
  /** Digest of the rows; empty where none are served. */
  content: string;
  /** That will be sent. */
  bytes: number;
}

export interface RepeatableAs {
  /** The caller's Idempotency-Key. */
  key: string;
  /** Differs between calls that ask for different things. */
  fingerprint: string;
}
