/**
 * The archive step of the night: history leaves Redis for Parquet exactly once, whatever is killed when; see
 * data/schema/archive.ts for the layout and why that holds.
 *
 * One run at a time, by a lock that a crash cannot leave behind. What a killed run wrote and Redis does not know of is
 * taken over first. A Redis belongs to one archive: a run with another directory is refused, so that history never ends
 * up in two places.
 */
import { mkdir } from 'node:fs/promises';
import { acquireLock } from '../../data/runtime/file-lock.ts';
import { DAY_MS, dayOf, redisKeys } from '../../data/schema/redis-keys.ts';
import { CommandError } from '../runtime/command-error.ts';
import { ArchiveStorage } from './archive-storage.ts';
import { type AuditArchived, archiveAudit } from './audit.ts';
import type { ArchiveContext, ArchiveDependencies } from './context.ts';
import { archiveLedger, type LedgerArchived } from './ledger.ts';
import { withRetry } from './redis-access.ts';
import { archiveUsage, type UsageArchived } from './usage.ts';

/** A day of a million calls is one part; DuckDB holds so many in some 300 MB. */
const PART_ENTRIES = 1_000_000;

export interface ArchiveSummary {
  ledger: LedgerArchived;
  audit: AuditArchived;
  usage: UsageArchived;
}

/**
 * Archives what is old enough.
 * @throws {LockHeldError} when another run is at it; {CommandError} when this Redis belongs to another archive.
 */
export async function runArchive(dependencies: ArchiveDependencies): Promise<ArchiveSummary> {
  const { settings, now } = dependencies;
  const shelf = new ArchiveStorage(settings.ARCHIVE_DIR);
  await mkdir(shelf.directory, { recursive: true });
  const lock = await acquireLock(shelf.lockFile, 'the archive', { signal: dependencies.signal });
  const context: ArchiveContext = {
    ...dependencies,
    signal: lock.signal,
    shelf,
    partEntries: dependencies.partEntries ?? PART_ENTRIES,
    onStep: dependencies.onStep ?? (() => {}),
  };
  try {
    await shelf.clean();
    await belong(context);
    const today = dayOf(now());
    return {
      ledger: await archiveLedger(context, (today - settings.LEDGER_LIVE_DAYS) * DAY_MS),
      audit: await archiveAudit(context, (today - settings.AUDIT_LIVE_DAYS) * DAY_MS),
      usage: await archiveUsage(context),
    };
  } finally {
    await lock.release();
  }
}

/** The first run makes them one; every later one looks. */
async function belong({ redis, shelf }: ArchiveContext): Promise<void> {
  const id = await shelf.identity();
  await withRetry(redis, () => redis.set(redisKeys.archive, id, 'NX'));
  const known = await withRetry(redis, () => redis.get(redisKeys.archive));
  if (known === id) return;
  throw new CommandError(
    `this Redis keeps its history in archive ${known}, and ${shelf.directory} is archive ${id}: set ARCHIVE_DIR`,
  );
}

/** What a person has to look at, in sentences; empty when all went well. */
export function archiveWarnings({ ledger, audit, usage }: ArchiveSummary): string[] {
  const left = [...ledger.left, ...audit.left].map(({ what, why }) => `${what} was left live: ${why}`);
  const { lost } = usage;
  return lost ? [...left, `usage from ${lost.from} to ${lost.to} was gone before it was archived`] : left;
}

/** What was done, in one line. */
export function archiveSummaryLine({ ledger, audit, usage }: ArchiveSummary): string {
  return `archived ${ledger.entries} ledger entries, ${audit.entries} audit entries and ${usage.days.length} days of usage`;
}
