/**
 * What has happened: the audit log and the ledger, each with its archive.
 *
 * - Every change is audited: a pending entry is written before it, the final one after it. An entry is never changed.
 * - Ledger and audit log are read newest first, in pages, the live part from Redis and older entries from Parquet. One
 *   transaction reads what is live and how far the archive goes, so that no entry is missed or read twice.
 * - An entry that cannot be read is never silently absent: a page ends with a gap that says what is missing.
 * - Without an archive one `carry_forward` entry represents all archived entries of a ledger, so that its sum is right.
 */
export * from './archive.ts';
export * from './audit-log.ts';
export * from './audit-search.ts';
export * from './engine.ts';
export * from './entries.ts';
export * from './ledger-history.ts';
export * from './parts.ts';
