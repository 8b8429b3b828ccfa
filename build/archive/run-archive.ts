/**
 * The archive step of the nightly run: moves ledger, audit log and usage from Redis to Parquet, each entry exactly once,
 * also when a run is killed. `data/schema/archive.ts` describes the layout and why this holds.
 *
 * A lock admits one run at a time. A Redis belongs to one archive: a run with another directory is refused, so that
 * history never lies in two places.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { acquireLock, type FileLock, type LockOptions } from '../../data/runtime/file-lock.ts';
import { DAY_MS, dayOf, redisKeys } from '../../data/schema/redis-keys.ts';
import { DuckSession } from '../runtime/duckdb.ts';
import { CommandError } from '../runtime/errors.ts';
import { withRetry } from '../runtime/redis-connection.ts';
import { type ArchiveContext, type ArchiveDependencies, ArchiveStorage } from './archive-storage.ts';
import { type AuditArchived, archiveAudit } from './audit.ts';
import { archiveLedger, type LedgerArchived } from './ledger.ts';
import { archiveUsage, type UsageArchived } from './usage.ts';

/** A day of a million calls is one part. DuckDB takes some 300 MB to hold it. */
const PART_ENTRIES = 1_000_000;
const MEMORY_MB = 768;

export interface ArchiveSummary {
  ledger: LedgerArchived;
  audit: AuditArchived;
  usage: UsageArchived;
}

/** Keeps archive runs away: nothing moves between Redis and the archive while it is held. @throws {LockHeldError} */
export const lockArchive = (directory: string, options: LockOptions): Promise<FileLock> =>
  acquireLock(join(directory, '.lock'), 'the archive', options);

/**
 * Archives what is old enough.
 * @throws {LockHeldError} when another run is active; {CommandError} when this Redis belongs to another archive.
 */
export async function runArchive(dependencies: ArchiveDependencies): Promise<ArchiveSummary> {
  const { settings, now, signal } = dependencies;
  const storage = new ArchiveStorage(settings.ARCHIVE_DIR);
  await mkdir(storage.directory, { recursive: true });
  const lock = await lockArchive(storage.directory, { signal });
  try {
    await storage.clean();
    await using duck = await DuckSession.open({ scratch: storage.scratch, memoryMb: MEMORY_MB });
    const context: ArchiveContext = {
      ...dependencies,
      ...{ storage, duck, signal: lock.signal },
      partEntries: dependencies.partEntries ?? PART_ENTRIES,
      onStep: dependencies.onStep ?? (() => {}),
    };
    return await archiveAll(context, dayOf(now()));
  } finally {
    await lock.release();
  }
}

async function archiveAll(context: ArchiveContext, today: number): Promise<ArchiveSummary> {
  const { LEDGER_LIVE_DAYS, AUDIT_LIVE_DAYS } = context.settings;
  await claimRedis(context);
  return {
    ledger: await archiveLedger(context, (today - LEDGER_LIVE_DAYS) * DAY_MS),
    audit: await archiveAudit(context, (today - AUDIT_LIVE_DAYS) * DAY_MS),
    usage: await archiveUsage(context),
  };
}

/** The first run writes the archive's id to Redis; every later one compares. */
async function claimRedis({ redis, storage }: ArchiveContext): Promise<void> {
  const id = await storage.identity();
  await withRetry(redis, () => redis.set(redisKeys.archive, id, 'NX'));
  const known = await withRetry(redis, () => redis.get(redisKeys.archive));
  if (known === id) return;
  throw new CommandError(
    `this Redis keeps its history in archive ${known}, and ${storage.directory} is archive ${id}: set ARCHIVE_DIR`,
  );
}

/** What an operator has to look at, in sentences; empty when all went well. */
export function archiveWarnings({ ledger, audit, usage }: ArchiveSummary): string[] {
  const left = [...ledger.left, ...audit.left].map(({ what, why }) => `${what} stays in Redis: ${why}`);
  const { lost } = usage;
  return lost ? [...left, `usage from ${lost.from} to ${lost.to} expired before it was archived`] : left;
}

/** The result of a run in one line. */
export function archiveSummaryLine({ ledger, audit, usage }: ArchiveSummary): string {
  return `archived ${ledger.entries} ledger entries, ${audit.entries} audit entries and ${usage.days.length} days of usage`;
}
