/**
 * What has happened: the audit log and the ledger, each with its archive.
 *
 * - Every change is audited: a pending entry is written before it, the final one after it. An entry is never changed.
 * - Ledger and audit log are read newest first, in pages, the live part from Redis and older entries from Parquet. One
 *   transaction reads what is live and how far the archive goes, so that no entry is missed or read twice.
 * - An entry that cannot be read is never silently absent: a page ends with a gap that says what is missing.
 * - Without an archive one `carry_forward` entry represents all archived entries of a ledger, so that its sum is right.
 */
export { Archive } from './archive.ts';
export { AuditFollower } from './audit-follower.ts';
export {
  type AuditEntry,
  type AuditedChange,
  type AuditFacts,
  AuditLog,
  type AuditOutcome,
  accountSubject,
  NOT_CONFIRMED,
  personSubject,
} from './audit-log.ts';
export { type AuditFilter, matchesFilter, searchAudit } from './audit-search.ts';
export { ArchiveEngine, type SqlRow } from './engine.ts';
export {
  compareStreamIds,
  formatStreamId,
  type Gap,
  integerOf,
  isGap,
  LAST_STREAM_ID,
  parseStreamId,
  type StreamId,
} from './entries.ts';
export {
  type LedgerPage,
  type LedgerQuery,
  ledgerEntryFrom,
  readLedgerPage,
  readWholeLedger,
} from './ledger-history.ts';
export { listParts, listUsage } from './parts.ts';
