/** `almanac-data`: country statistics with unit, licence, edition and proof attached. */
export {
  Almanac,
  type Bounded,
  type CatalogueFilter,
  type CitationStyle,
  type Claim,
  type ClientOptions,
  type DataOptions,
  type Dated,
  type FeedOptions,
  type Included,
} from './client.ts';
export type { DataFile } from './data-file.ts';
export { type DerivedFrom, type DerivedRow, derive, type GivenRow } from './derive.ts';
export {
  AlmanacError,
  ApiError,
  ConnectionFailed,
  LockError,
  type RefusalFacts,
  Refused,
  UnexpectedAnswer,
  Unsupported,
} from './errors.ts';
export { formatLock, type Lock, type PinnedKey, parseLock } from './lock.ts';
export type { Aggregate, AsOf, Column, DataQuestion, Since, Words, Years } from './questions.ts';
export { type Checkpoint, type LogKey, parseKey, parseKeys, readCheckpoint } from './receipts/checkpoints.ts';
export { type VerifiedDerivation, verifyDerivation } from './receipts/derivation.ts';
export type { Json } from './receipts/exact-json.ts';
export { type Verified, verifyOneLog, verifyReceipt, verifyRows } from './receipts/receipt.ts';
export type * from './records.ts';
export type { Attributes, Provenance, Series, Sourced, Table } from './table.ts';
export type { Surroundings } from './transport.ts';
