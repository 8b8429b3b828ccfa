/** What every part of an archive run works with. */
import type { Logger } from 'pino';
import type { RedisClient } from '../../data/runtime/redis.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import type { ArchiveStorage } from './archive-storage.ts';

/** A moment of a run in which something lasting has just been done: `ledger written 20261121…`. */
export type ArchiveStep = string;

export interface ArchiveDependencies {
  redis: RedisClient;
  settings: Pick<Settings, 'ARCHIVE_DIR' | 'LEDGER_LIVE_DAYS' | 'AUDIT_LIVE_DAYS'>;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
  signal?: AbortSignal | undefined;
  /** Told of every lasting step, right after it. */
  onStep?: ((step: ArchiveStep) => void | Promise<void>) | undefined;
  /** Entries of one part at most. A run that has more to do writes several parts, one after the other. */
  partEntries?: number | undefined;
}

export interface ArchiveContext extends ArchiveDependencies {
  shelf: ArchiveStorage;
  partEntries: number;
  onStep: (step: ArchiveStep) => void | Promise<void>;
}

/** What was not archived, and why: the name of an account or `audit`, and a sentence. */
export interface NotArchived {
  what: string;
  why: string;
}
