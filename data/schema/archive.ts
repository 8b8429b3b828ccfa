/**
 * The layout of the archive: history that would grow Redis without bound, moved to Parquet by the nightly batch and
 * read together with what is live wherever a page or a check needs both.
 *
 *   <ARCHIVE_DIR>/ledger/<part>/entries.parquet    sorted by account_id, id_ms, id_seq (LEDGER_COLUMNS)
 *   <ARCHIVE_DIR>/ledger/<part>/accounts.parquet   one row per account in the part (LEDGER_ACCOUNT_COLUMNS)
 *   <ARCHIVE_DIR>/audit/<part>/entries.parquet     sorted by id_ms, id_seq (AUDIT_COLUMNS)
 *   <ARCHIVE_DIR>/usage/<2026-11-21>.parquet       one UTC day of all accounts, sorted by account_id, route (USAGE_COLUMNS)
 *   <ARCHIVE_DIR>/archive.json                     `{ id }`; the Redis whose history this is has the same id at `archive:id`
 *
 * A part is a directory that appears by one atomic rename and never changes; its name sorts by time. A name that begins
 * with a dot is unfinished and invisible.
 *
 * Exactly once, whatever is killed when: an entry is *archived* when Redis says so. Per account, `{a:ID}:carried` names
 * the last entry that has left the live ledger (`through`) and the balance it left; one script sets it and trims the
 * stream. Parts come first, so at any moment every entry is live, in a part, or both, and a reader who takes from
 * the parts what lies at or before `through`, and everything live, sees each once. A part that was written but not yet
 * carried over is carried over by the next run, before it writes another: no entry ever lies in two parts. A long part is
 * carried over in steps, each a prefix of an account's entries, so `through` may stand in the middle of one.
 * `{audit}:carried` is the same for the audit log. A usage day is one file, written once when the day can no longer change.
 */
import { z } from 'zod';

export const ARCHIVED_ENTRIES = 'entries.parquet';
export const ARCHIVED_ACCOUNTS = 'accounts.parquet';

/**
 * An entry's stream id is `id_ms-id_seq`. A field that the entry does not have is null; `more` is a JSON object of
 * fields without a column, usually null.
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

/** What a part holds of one account: its first and last entry, and the balance before and after them. */
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

/** A day without calls is a file without rows: it says that there were none. */
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

/** The hash `{a:ID}:carried`: what has left the live ledger of an account. Absent when nothing has. */
export const ledgerArchivedThrough = z.object({
  /** Id of the last entry that has left. */
  through: streamId,
  /** Its time, Unix milliseconds. */
  at_ms: whole,
  /** The balance it left: the sum of all deltas that have left. */
  balance: whole,
  /** How many entries have left, ever. */
  entries: whole,
});
export type LedgerArchivedThrough = z.infer<typeof ledgerArchivedThrough>;

/** The hash `{audit}:carried`. */
export const auditArchivedThrough = z.object({ through: streamId, entries: whole });
export type AuditArchivedThrough = z.infer<typeof auditArchivedThrough>;
