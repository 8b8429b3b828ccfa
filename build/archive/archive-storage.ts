/**
 * The archive's files and directories.
 *
 * A part is written to a directory whose name begins with a dot, flushed, and published by one rename; so is the file of
 * a day of usage. The next run removes what was not published.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { replaceFile, syncDirectory, syncFiles } from '../../data/runtime/durable-files.ts';
import type { RedisClient } from '../../data/runtime/redis.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import { ARCHIVED_ACCOUNTS, ARCHIVED_ENTRIES } from '../../data/schema/archive.ts';
import type { DuckSession } from '../runtime/duckdb.ts';

export type PartKind = 'ledger' | 'audit';
const KINDS = ['ledger', 'audit', 'usage'] as const;
const IDENTITY = 'archive.json';
const USAGE_FILE = /^(\d{4}-\d{2}-\d{2})\.parquet$/;

/** Files of a part, published or not. */
export interface PartFiles {
  directory: string;
  entries: string;
  accounts: string;
}

const filesIn = (directory: string): PartFiles => ({
  directory,
  entries: join(directory, ARCHIVED_ENTRIES),
  accounts: join(directory, ARCHIVED_ACCOUNTS),
});

/** `20261121T020000123Z`; sorts by time. */
const compact = (ms: number): string => new Date(ms).toISOString().replaceAll(/[-:.]/g, '');
const NUMBER_DIGITS = 4;

export class ArchiveStorage {
  readonly directory: string;
  /** Spill directory of DuckDB. */
  readonly scratch: string;

  constructor(directory: string) {
    this.directory = directory;
    this.scratch = join(directory, `.scratch-${randomUUID()}`);
  }

  /** Creates the directories and removes unpublished files. Only for the holder of the lock. */
  async clean(): Promise<void> {
    for (const kind of KINDS) {
      const folder = join(this.directory, kind);
      await mkdir(folder, { recursive: true });
      for (const name of await readdir(folder)) {
        if (name.startsWith('.')) await rm(join(folder, name), { recursive: true, force: true });
      }
    }
    for (const name of await readdir(this.directory)) {
      const isTemporary = name.startsWith('.scratch-') || name.endsWith('.tmp');
      if (isTemporary) await rm(join(this.directory, name), { recursive: true, force: true });
    }
    await syncDirectory(this.directory);
  }

  /** The archive's unique id, created by the first run. */
  async identity(): Promise<string> {
    const file = join(this.directory, IDENTITY);
    const text = await readFile(file, 'utf8').catch(() => null);
    if (text !== null) return (JSON.parse(text) as { id: string }).id;
    const id = randomUUID();
    await replaceFile(file, `${JSON.stringify({ id })}\n`);
    return id;
  }

  /** Names of the published parts, oldest first. */
  async parts(kind: PartKind): Promise<string[]> {
    const names = await readdir(join(this.directory, kind));
    return names.filter((name) => !name.startsWith('.')).sort();
  }

  part(kind: PartKind, name: string): PartFiles {
    return filesIn(join(this.directory, kind, name));
  }

  /** A glob of the account files of all ledger parts; null when there is no part. */
  async accountFiles(): Promise<string | null> {
    const parts = await this.parts('ledger');
    return parts.length > 0 ? join(this.directory, 'ledger', '*', ARCHIVED_ACCOUNTS) : null;
  }

  /** Creates the hidden directory of a new part. Its name sorts after all others. */
  async begin(kind: PartKind, now_ms: number): Promise<{ name: string; files: PartFiles }> {
    const last = (await this.parts(kind)).at(-1) ?? '';
    const first = `${compact(now_ms)}-${'0'.repeat(NUMBER_DIGITS)}`;
    const name = first > last ? first : following(last);
    const directory = join(this.directory, kind, `.${name}`);
    await mkdir(directory);
    return { name, files: filesIn(directory) };
  }

  /** Publishes a written part. It never changes afterwards. */
  async publish(kind: PartKind, name: string): Promise<PartFiles> {
    const draft = filesIn(join(this.directory, kind, `.${name}`));
    const names = await readdir(draft.directory);
    await syncFiles(names.map((file) => join(draft.directory, file)));
    await syncDirectory(draft.directory);
    const part = this.part(kind, name);
    await rename(draft.directory, part.directory);
    await syncDirectory(join(this.directory, kind));
    return part;
  }

  /** Published days of usage, `2026-11-21`, oldest first. */
  async usageDays(): Promise<string[]> {
    const names = await readdir(join(this.directory, 'usage'));
    return names.flatMap((name) => USAGE_FILE.exec(name)?.[1] ?? []).sort();
  }

  usageDraft(date: string): string {
    return join(this.directory, 'usage', `.${date}.parquet`);
  }

  async publishUsage(date: string): Promise<void> {
    const draft = this.usageDraft(date);
    const home = join(this.directory, 'usage', `${date}.parquet`);
    if (existsSync(home)) throw new Error(`the usage of ${date} is already written`);
    await syncFiles([draft]);
    await rename(draft, home);
    await syncDirectory(join(this.directory, 'usage'));
  }
}

/** The next number of the same moment: for parts of one millisecond, and for a clock that was set back. */
function following(name: string): string {
  const bar = name.lastIndexOf('-');
  const number = Number(name.slice(bar + 1)) + 1;
  return `${name.slice(0, bar)}-${String(number).padStart(NUMBER_DIGITS, '0')}`;
}

/** What an archive run works with. */
export interface ArchiveDependencies {
  redis: RedisClient;
  settings: Pick<Settings, 'ARCHIVE_DIR' | 'LEDGER_LIVE_DAYS' | 'AUDIT_LIVE_DAYS'>;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
  signal?: AbortSignal;
  /** Called after every durable step: `ledger written 20261121…`. */
  onStep?: (step: string) => void | Promise<void>;
  /** Most entries of one part. A run with more to archive writes several parts. */
  partEntries?: number;
}

export interface ArchiveContext extends Required<ArchiveDependencies> {
  storage: ArchiveStorage;
  duck: DuckSession;
}

/** What left the streams of Redis. */
export interface EntriesArchived {
  /** Names of the parts that were written. */
  parts: string[];
  entries: number;
  /** Parts of earlier runs that were trimmed first. */
  resumed: string[];
  left: NotArchived[];
}

/** What stayed in Redis: an account id or `audit`, and the reason as a sentence. */
export interface NotArchived {
  what: string;
  why: string;
}
