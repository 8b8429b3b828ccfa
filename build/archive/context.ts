/** What every step of an archive run works with. */
import type { Logger } from 'pino';
import type { RedisClient } from '../../data/runtime/redis.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import type { DuckSession } from '../runtime/duckdb.ts';
import type { ArchiveStorage } from './archive-storage.ts';

export interface ArchiveDependencies {
  redis: RedisClient;
  settings: Pick<Settings, 'ARCHIVE_DIR' | 'LEDGER_LIVE_DAYS' | 'AUDIT_LIVE_DAYS'>;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
  signal?: AbortSignal | undefined;
  /** Called after every durable step: `ledger written 20261121…`. */
  onStep?: ((step: string) => void | Promise<void>) | undefined;
  /** Most entries of one part. A run with more to archive writes several parts. */
  partEntries?: number | undefined;
}

export interface ArchiveContext extends ArchiveDependencies {
  storage: ArchiveStorage;
  duck: DuckSession;
  signal: AbortSignal;
  partEntries: number;
  onStep: (step: string) => void | Promise<void>;
}

/** What stayed in Redis: an account id or `audit`, and the reason as a sentence. */
export interface NotArchived {
  what: string;
  why: string;
}
