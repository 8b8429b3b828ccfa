/**
 * The archive step of the nightly run: moves ledger, audit log and usage from Redis to Parquet, each entry exactly once,
 * also when a run is killed. `data/schema/archive.ts` describes the layout and why this holds.
 *
 * A lock admits one run at a time. A Redis belongs to one archive: a run with another directory is refused, so that
 * history never lies in two places.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type FileLock, type LockOptions, withLock } from '../../data/runtime/file-lock.ts';
import { DAY_MS, dayOf, redisKeys } from '../../data/schema/redis-keys.ts';
import { DuckSession } from '../runtime/duckdb.ts';
import { CommandError } from '../runtime/errors.ts';
import { withRetry } from '../runtime/redis-connection.ts';
import {
  type ArchiveContext,
  type ArchiveDependencies,
  ArchiveStorage,
  type EntriesArchived,
} from './archive-storage.ts';
import { archiveAudit } from './audit.ts';
import { archiveLedger } from './ledger.ts';
import { archiveUsage, type UsageArchived } from './usage.ts';

/** A day of a million calls is one part. DuckDB takes some 300 MB to hold it. */
const PART_ENTRIES = 1_000_000;
const MEMORY_MB = 768;

export interface ArchiveSummary {
  ledger: EntriesArchived;
  audit: EntriesArchived;
  usage: UsageArchived;
}

/** Keeps archive runs away meanwhile: nothing moves between Redis and the archive. @throws {LockHeldError} */
export const withArchiveLock = <Result>(
  directory: string,
  options: LockOptions,
  work: (lock: FileLock) => Promise<Result>,
): Promise<Result> => withLock(join(directory, '.lock'), 'the archive', options, work);

/**
 * Archives what is old enough.
 * @throws {LockHeldError} when another run is active; {CommandError} when this Redis belongs to another archive.
 */
export async function runArchive(dependencies: ArchiveDependencies): Promise<ArchiveSummary> {
  const { settings, now, signal } = dependencies;
  const storage = new ArchiveStorage(settings.ARCHIVE_DIR);
  await mkdir(storage.directory, { recursive: true });
  return withArchiveLock(storage.directory, { signal }, async (lock) => {
    await storage.clean();
    await using duck = await DuckSession.open({ scratch: storage.scratch, memoryMb: MEMORY_MB });
    const context: ArchiveContext = {
      ...dependencies,
      storage,
      duck,
      signal: lock.signal,
      partEntries: dependencies.partEntries ?? PART_ENTRIES,
      onStep: dependencies.onStep ?? (() => {}),
    };
    await claimRedis(context);
    const today = dayOf(now());
    return {
      ledger: await archiveLedger(context, (today - settings.LEDGER_LIVE_DAYS) * DAY_MS),
      audit: await archiveAudit(context, (today - settings.AUDIT_LIVE_DAYS) * DAY_MS),
      usage: await archiveUsage(context),
    };
  });
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
