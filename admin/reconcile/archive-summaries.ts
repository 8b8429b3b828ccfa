/**
 * Summarises each file of the archive once, so that a reconciliation need not read every archived entry.
 *
 * A summary is made from every entry of a file and is valid while the file keeps its inode, size and times. Since a
 * disk may later return other bytes, each refresh also reads some unchanged files again, those read longest ago first,
 * within a time budget: a small archive is read whole every time, a large one in turns.
 *
 * Reports files that cannot be read and parts whose account list differs from their entries.
 */

import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { readSql } from '../../data/runtime/sql-files.ts';
import { auditArchivedThrough } from '../../data/schema/archive.ts';
import { DAY_MS, dateOfDay, redisKeys } from '../../data/schema/redis-keys.ts';
import {
  type ArchiveEngine,
  integerOf,
  listParts,
  listUsage,
  parseStreamId,
  partsOf,
} from '../../gateway/commerce/history/history.ts';

const SUMMARISE_LEDGER = readSql(import.meta.url, 'sql/summarise-ledger.sql');
const SUMMARISE_USAGE = readSql(import.meta.url, 'sql/summarise-usage.sql');
const WRONG_ACCOUNT_LISTS = readSql(import.meta.url, 'sql/wrong-account-lists.sql');
const DEBITED_DAYS = readSql(import.meta.url, 'sql/debited-days.sql');
const AUDIT_COUNT = readSql(import.meta.url, 'sql/audit-count.sql');

/** A file of the archive. */
export interface Source {
  /** `ledger/<part>` or `usage/<date>` */
  name: string;
  kind: 'ledger' | 'usage';
  entries: string;
  /** The part's account list; null for usage. */
  accounts: string | null;
  /** UTC day number of usage; 0 for the ledger. */
  day: number;
}

export interface Summary {
  source: Source;
  file: string;
  /** When every entry of the source was read. */
  read_at_ms: number;
}

export interface SummarisedArchive {
  /** Oldest first. */
  ledger: Summary[];
  usage: Summary[];
  /** Whether the archive has any ledger part, readable or not. */
  hasLedger: boolean;
  /** Faults of files, in sentences. */
  problems: string[];
}

interface RefreshOptions {
  /** Time for reading unchanged files again. */
  reread_ms: number;
  /** Called after each new or changed file. */
  onRead?: (done: number, total: number) => void;
}

export class ArchiveSummaries {
  readonly #archiveDir: string;
  readonly #directory: string;
  readonly #engine: ArchiveEngine;
  readonly #now: () => number;

  /** @param directory keeps the summaries; nothing else writes to it */
  constructor(archiveDir: string, directory: string, engine: ArchiveEngine, now: () => number) {
    this.#archiveDir = archiveDir;
    this.#directory = directory;
    this.#engine = engine;
    this.#now = now;
  }

  /** Summarises new and changed files, then files that were read longest ago. */
  async refresh({ reread_ms, onRead }: RefreshOptions): Promise<SummarisedArchive> {
    await mkdir(this.#directory, { recursive: true });
    const states = await this.#states();
    const unread = states.filter(({ read_at_ms }) => read_at_ms === null);
    const known = states
      .filter(({ read_at_ms }) => read_at_ms !== null)
      .sort((a, b) => Number(a.read_at_ms) - Number(b.read_at_ms));
    const problems = new Map<string, string>();
    for (const [index, state] of unread.entries()) {
      await this.#read(state, problems);
      onRead?.(index + 1, unread.length);
    }
    const until_ms = performance.now() + reread_ms;
    for (const state of known) {
      if (performance.now() >= until_ms) break;
      await this.#read(state, problems);
    }
    const summaries = states.flatMap(({ source, file, read_at_ms }) =>
      read_at_ms === null ? [] : [{ source, file, read_at_ms }],
    );
    return {
      ledger: summaries.filter(({ source }) => source.kind === 'ledger'),
      usage: summaries.filter(({ source }) => source.kind === 'usage'),
      hasLedger: states.some(({ source }) => source.kind === 'ledger'),
      problems: [...problems.values()],
    };
  }

  async #sources(): Promise<Source[]> {
    const parts = await listParts(this.#archiveDir, 'ledger');
    const days = await listUsage(this.#archiveDir);
    return [
      ...parts.map(({ name, entries, accounts }) => ({
        name: `ledger/${name}`,
        kind: 'ledger' as const,
        entries,
        accounts,
        day: 0,
      })),
      ...days.map(({ date, file }) => ({
        name: `usage/${date}`,
        kind: 'usage' as const,
        entries: file,
        accounts: null,
        day: Date.parse(date) / DAY_MS,
      })),
    ];
  }

  /** Finds the summary of every source, `read_at_ms` null without a valid one, and deletes summaries without a source. */
  async #states() {
    const states = await Promise.all(
      (await this.#sources()).map(async (source) => {
        const name = `${source.name.replace('/', '-')}.${await fingerprint(source)}.parquet`;
        const file = join(this.#directory, name);
        const known = await stat(file).catch(() => null);
        return { source, file, read_at_ms: known?.mtimeMs || null };
      }),
    );
    const wanted = new Set(states.map(({ file }) => basename(file)));
    for (const name of await readdir(this.#directory)) {
      // A draft of a wanted summary may be another process's work.
      const [, drafted = name] = /^(.+)\.[0-9a-f-]+\.new$/.exec(name) ?? [];
      if (!wanted.has(drafted)) await rm(join(this.#directory, name), { force: true });
    }
    return states;
  }

  /** Summarises a source and notes the outcome in `state` and `problems`. */
  async #read(
    state: Omit<Summary, 'read_at_ms'> & { read_at_ms: number | null },
    problems: Map<string, string>,
  ): Promise<void> {
    const { source, file } = state;
    const draft = `${file}.${randomUUID()}.new`;
    try {
      const { kind, entries, day } = source;
      if (kind === 'ledger') await this.#engine.rows(SUMMARISE_LEDGER, { entries, file: draft });
      else await this.#engine.rows(SUMMARISE_USAGE, { entries, file: draft, day: BigInt(day) });
    } catch (error) {
      state.read_at_ms = null;
      await rm(draft, { force: true });
      await rm(file, { force: true });
      problems.set(source.name, `${source.name} cannot be read: ${this.#reason(error)}`);
      return;
    }
    const read_at_ms = this.#now();
    const problem = source.accounts === null ? null : await this.#checkAccountList(draft, source.accounts);
    await rename(draft, file);
    // Time 0 makes the next refresh read a file with a problem again, so every reconciliation reports it.
    await utimes(file, new Date(), new Date(problem === null ? read_at_ms : 0));
    state.read_at_ms = read_at_ms;
    if (problem !== null) problems.set(source.name, `${source.name}: ${problem}`);
  }

  /** The first line of DuckDB's message, without the archive's path. */
  #reason(error: unknown): string {
    const [line = ''] = String(error instanceof Error ? error.message : error).split('\n');
    return line.replaceAll(join(this.#archiveDir, '/'), '');
  }

  /** Returns what is wrong with a part's account list, or null. */
  async #checkAccountList(summary: string, accounts: string): Promise<string | null> {
    try {
      const [row] = await this.#engine.rows(WRONG_ACCOUNT_LISTS, { summary, accounts });
      const count = Number(row?.accounts);
      return count === 0 ? null : `its list of accounts differs from its entries for ${count} of them`;
    } catch (error) {
      return `its list of accounts cannot be read: ${this.#reason(error)}`;
    }
  }
}

/** Identifies the source's files by inode, size and times. */
async function fingerprint({ entries, accounts }: Source): Promise<string> {
  const digest = createHash('sha256');
  for (const file of accounts === null ? [entries] : [entries, accounts]) {
    const facts = await stat(file, { bigint: true }).catch(() => null);
    digest.update(facts ? `${facts.ino} ${facts.size} ${facts.mtimeNs} ${facts.ctimeNs};` : 'absent;');
  }
  return digest.digest('hex').slice(0, 16);
}

/** Days with archived debits whose usage is neither archived nor live. */
export async function findMissingUsage(
  engine: ArchiveEngine,
  { ledger, usage }: SummarisedArchive,
  firstLiveDay: number,
): Promise<string[]> {
  if (ledger.length === 0) return [];
  const archived = new Set(usage.map(({ source }) => source.day));
  const rows = await engine.rows(DEBITED_DAYS, { files: ledger.map(({ file }) => file) });
  return rows
    .map((row) => integerOf(row, 'day'))
    .filter((day) => day < firstLiveDay && !archived.has(day))
    .sort((a, b) => a - b)
    .map((day) => `usage/${dateOfDay(day)} is missing: its debits cannot be checked`);
}

/** Compares the archived audit log with the number of entries that Redis has archived. */
export async function findAuditProblems(
  engine: ArchiveEngine,
  redis: RedisClient,
  archive_dir: string,
): Promise<string[]> {
  const hash = await redis.hgetall(redisKeys.auditArchivedThrough);
  if (!('through' in hash)) return [];
  const { entries: expected, through } = auditArchivedThrough.parse(hash);
  const parts = await listParts(archive_dir, 'audit');
  if (parts.length === 0) return [`audit: ${expected} archived entries cannot be read here`];
  const end = partsOf(parseStreamId(through));
  const problems: string[] = [];
  let entries = 0;
  for (const part of parts) {
    try {
      const [row] = await engine.rows(AUDIT_COUNT, { file: part.entries, ...end });
      entries += Number(row?.entries);
    } catch {
      problems.push(`audit/${part.name} cannot be read`);
    }
  }
  if (problems.length === 0 && entries !== expected)
    problems.push(
      `audit: the archive holds ${entries} entries of the audit log, but Redis has archived ${expected}`,
    );
  return problems;
}
