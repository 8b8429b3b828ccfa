/**
 * The layout of the archive: history that would grow Redis without bound, moved to Parquet by the nightly run. Readers
 * combine it with the live entries in Redis.
 *
 *   <ARCHIVE_DIR>/ledger/<part>/entries.parquet    sorted by account_id, id_ms, id_seq (LEDGER_COLUMNS)
 *   <ARCHIVE_DIR>/ledger/<part>/accounts.parquet   one row per account in the part (LEDGER_ACCOUNT_COLUMNS)
 *   <ARCHIVE_DIR>/audit/<part>/entries.parquet     sorted by id_ms, id_seq (AUDIT_COLUMNS)
 *   <ARCHIVE_DIR>/usage/<2026-11-21>.parquet       one UTC day of all accounts, sorted by account_id, route (USAGE_COLUMNS)
 *   <ARCHIVE_DIR>/archive.json                     `{ id }`; the Redis whose history this is has the same id at `archive:id`
 *
 * A part is a directory that is published by one atomic rename and never changes; its name sorts by time. A name that
 * begins with a dot is unpublished and ignored.
 *
 * Exactly once, also after a kill: a part is published first, then a script trims its entries from Redis and records in
 * `{a:ID}:carried` the last trimmed entry (`through`) and its balance, in one step. So every entry is live, in a part, or
 * both. A reader takes archived entries up to `through` and all live entries, and sees each once. A run first trims parts
 * that an earlier run published but did not trim, so no entry lies in two parts. A part is trimmed in steps, each a prefix
 * of an account's entries, so `through` may lie in the middle of a part. `{audit}:carried` is the same for the audit log.
 * A usage day is one file, written once when the day can no longer change.
 */
import { z } from 'zod';

export const ARCHIVED_ENTRIES = 'entries.parquet';
export const ARCHIVED_ACCOUNTS = 'accounts.parquet';

/**
 * An entry's stream id is `id_ms-id_seq`. An absent field is null. `more` is a JSON object of the fields without a column,
 * usually null.
 */
export const LEDGER_COLUMNS = {
  account_id: 'VARCHAR',
  id_ms: 'BIGINT',
  id_seq: 'INTEGER',
  at_ms: 'BIGINT',
  kind: 'VARCHAR',
  delta: 'BIGINT',
  balance: 'BIGINT',
  request: 'VARCHAR',
  route: 'VARCHAR',
  key: 'VARCHAR',
  rows: 'BIGINT',
  order: 'VARCHAR',
  by: 'VARCHAR',
  reason: 'VARCHAR',
  more: 'VARCHAR',
} as const;

/** One account in a part: its first and last entry, and the balance before and after them. */
export const LEDGER_ACCOUNT_COLUMNS = {
  account_id: 'VARCHAR',
  entries: 'BIGINT',
  first_ms: 'BIGINT',
  first_seq: 'INTEGER',
  last_ms: 'BIGINT',
  last_seq: 'INTEGER',
  last_at_ms: 'BIGINT',
  opening: 'BIGINT',
  closing: 'BIGINT',
} as const;

export const AUDIT_COLUMNS = {
  id_ms: 'BIGINT',
  id_seq: 'INTEGER',
  at_ms: 'BIGINT',
  by: 'VARCHAR',
  action: 'VARCHAR',
  subject: 'VARCHAR',
  before: 'VARCHAR',
  after: 'VARCHAR',
  reason: 'VARCHAR',
  request: 'VARCHAR',
  more: 'VARCHAR',
} as const;

/** A day without calls is a file without rows. */
export const USAGE_COLUMNS = {
  account_id: 'VARCHAR',
  route: 'VARCHAR',
  requests: 'BIGINT',
  errors: 'BIGINT',
  rows: 'BIGINT',
  credits: 'BIGINT',
} as const;

const streamId = z.string().regex(/^\d+-\d+$/);
const whole = z.coerce.number().int();

/** The hash `{a:ID}:carried`: how far an account's ledger is archived. Absent when nothing is. */
export const ledgerArchivedThrough = z.object({
  /** Id of the last archived entry. */
  through: streamId,
  /** Its time, Unix milliseconds. */
  at_ms: whole,
  /** Its balance: the sum of all archived deltas. */
  balance: whole,
  /** Number of archived entries. */
  entries: whole,
});
export type LedgerArchivedThrough = z.infer<typeof ledgerArchivedThrough>;

/** The hash `{audit}:carried`. */
export const auditArchivedThrough = z.object({ through: streamId, entries: whole });
export type AuditArchivedThrough = z.infer<typeof auditArchivedThrough>;
