/**
 * What each file of the archive comes to, so that reconciliation need not read a year of entries whenever it is asked.
 *
 * A summary is made by reading every entry, and kept in a directory of the reader's own. It counts for as long as the
 * file is the very file that was read (inode, size, times). A disk may still return something else than it did then,
 * so each reading reads some files anew, those read longest ago first, for as long as it is told: a small archive is
 * read whole every time, a large one in turns.
 *
 * A file that cannot be read, or whose list of accounts is not what its entries say, is named.
 */

import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { auditArchivedThrough } from '../../data/schema/archive.ts';
import { DAY_MS, dateOfDay, redisKeys } from '../../data/schema/redis-keys.ts';
import { type ArchiveEngine, readSql } from '../../gateway/archive/engine.ts';
import { integerOf, parseStreamId } from '../../gateway/archive/entries.ts';
import { listParts, listUsage } from '../../gateway/archive/parts.ts';

const SUMMARISE_LEDGER = readSql(import.meta.url, 'sql/summarise-ledger.sql');
const SUMMARISE_USAGE = readSql(import.meta.url, 'sql/summarise-usage.sql');
const MISLISTED = readSql(import.meta.url, 'sql/wrong-account-lists.sql');

/** A file of the archive that is summarised. */
export interface Source {
  /** `ledger/<part>` or `usage/<date>` */
  name: string;
  kind: 'ledger' | 'usage';
  entries: string;
  /** A part's list of accounts. */
  accounts: string | null;
  /** Number of the UTC day, of usage. */
  day: number;
}

export interface Summary {
  source: Source;
  file: string;
  /** When every entry was read. */
  read_at_ms: number;
}

export interface SummarisedArchive {
  /** Oldest first. */
  ledger: Summary[];
  usage: Summary[];
  /** Whether there is a part of the ledger at all, readable or not. */
  isThere: boolean;
  /** What is wrong with files, in sentences. */
  problems: string[];
}

export interface SummarisePace {
  /** How long files that were read before may be read anew. */
  anew_ms: number;
  /** Told of each file that has been read, and how many there are to read. */
  onRead?: (done: number, total: number) => void;
}

interface QuotaStatus {
  source: Source;
  file: string;
  /** Null when it must be read. */
  read_at_ms: number | null;
}

export class ArchiveSummaries {
  readonly #archiveDir: string;
  readonly #directory: string;
  readonly #engine: ArchiveEngine;
  readonly #now: () => number;

  /** @param directory where summaries are kept; only this class writes in it. */
  constructor(archiveDir: string, directory: string, engine: ArchiveEngine, now: () => number) {
    this.#archiveDir = archiveDir;
    this.#directory = directory;
    this.#engine = engine;
    this.#now = now;
  }

  /** Lists the archive and summarises what is new, what has changed, and what was read longest ago. */
  async refresh({ anew_ms, onRead }: SummarisePace): Promise<SummarisedArchive> {
    await mkdir(this.#directory, { recursive: true });
    const standing = await this.#standing();
    const unread = standing.filter(({ read_at_ms }) => read_at_ms === null);
    const rest = standing
      .filter(({ read_at_ms }) => read_at_ms !== null)
      .sort((a, b) => Number(a.read_at_ms) - Number(b.read_at_ms));
    const problems = new Map<string, string>();
    let done = 0;
    for (const one of unread) {
      await this.#read(one, problems);
      done += 1;
      onRead?.(done, unread.length);
    }
    const until_ms = performance.now() + anew_ms;
    for (const one of rest) {
      if (performance.now() >= until_ms) break;
      await this.#read(one, problems);
    }
    const summaries = standing.flatMap(({ source, file, read_at_ms }) =>
      read_at_ms === null ? [] : [{ source, file, read_at_ms }],
    );
    return {
      ledger: summaries.filter(({ source }) => source.kind === 'ledger'),
      usage: summaries.filter(({ source }) => source.kind === 'usage'),
      isThere: standing.some(({ source }) => source.kind === 'ledger'),
      problems: [...problems.values()],
    };
  }

  async #sources(): Promise<Source[]> {
    const parts = await listParts(this.#archiveDir, 'ledger');
    const days = await listUsage(this.#archiveDir);
    return [
      ...parts.map(({ name, entries, accounts }) => ({
        ...{ name: `ledger/${name}`, kind: 'ledger' as const, entries, accounts, day: 0 },
      })),
      ...days.map(({ date, file }) => ({
        ...{ name: `usage/${date}`, kind: 'usage' as const, entries: file, accounts: null },
        day: Date.parse(date) / DAY_MS,
      })),
    ];
  }

  /** Every file with its summary, where one of this very file stands. ArchiveSummaries of files that are gone are removed. */
  async #standing(): Promise<QuotaStatus[]> {
    const sources = await this.#sources();
    const standing = await Promise.all(
      sources.map(async (source) => {
        const file = join(
          this.#directory,
          `${source.name.replace('/', '-')}.${await identityOf(source)}.parquet`,
        );
        const known = await stat(file).catch(() => null);
        return { source, file, read_at_ms: known?.mtimeMs || null };
      }),
    );
    const wanted = new Set(standing.map(({ file }) => basename(file)));
    for (const name of await readdir(this.#directory)) {
      if (!wanted.has(name) && !this.#isBeingWritten(name, wanted))
        await rm(join(this.#directory, name), { force: true });
    }
    return standing;
  }

  /** By this process or by another that shares the directory; what is for no file of the archive is rubbish. */
  #isBeingWritten(name: string, wanted: ReadonlySet<string>): boolean {
    const [, summary] = /^(.+)\.[0-9a-f-]+\.new$/.exec(name) ?? [];
    return summary !== undefined && wanted.has(summary);
  }

  /** Reads a file whole; `one` then stands for what was found, or for nothing when it cannot be read. */
  async #read(one: QuotaStatus, problems: Map<string, string>): Promise<void> {
    const { source, file } = one;
    const draft = `${file}.${randomUUID()}.new`;
    try {
      await this.#summarise(source, draft);
    } catch (error) {
      one.read_at_ms = null;
      await rm(draft, { force: true });
      await rm(file, { force: true });
      problems.set(source.name, `${source.name} cannot be read: ${this.#reason(error)}`);
      return;
    }
    const read_at_ms = this.#now();
    const wrong = source.accounts === null ? null : await this.#mislisted(draft, source.accounts);
    await rename(draft, file);
    // A file with something wrong is read again each time, so that the problem is told each time.
    await utimes(file, new Date(), new Date(wrong === null ? read_at_ms : 0));
    one.read_at_ms = read_at_ms;
    if (wrong !== null) problems.set(source.name, `${source.name}: ${wrong}`);
  }

  async #summarise({ kind, entries, day }: Source, file: string): Promise<void> {
    if (kind === 'ledger') await this.#engine.rows(SUMMARISE_LEDGER, { entries, file });
    else await this.#engine.rows(SUMMARISE_USAGE, { entries, file, day: BigInt(day) });
  }

  /** What DuckDB says, without the place of the archive on this machine. */
  #reason(error: unknown): string {
    const [line = ''] = String(error instanceof Error ? error.message : error).split('\n');
    return line.replaceAll(join(this.#archiveDir, '/'), '');
  }

  /** What is wrong with a part's list of accounts, in words; null when nothing is. */
  async #mislisted(summary: string, accounts: string): Promise<string | null> {
    try {
      const [row] = await this.#engine.rows(MISLISTED, { summary, accounts });
      const count = Number(row?.accounts);
      return count === 0 ? null : `its list of accounts differs from its entries for ${count} of them`;
    } catch (error) {
      return `its list of accounts cannot be read: ${this.#reason(error)}`;
    }
  }
}

/** What tells the files from any others that may ever lie in their place. */
async function identityOf({ entries, accounts }: Source): Promise<string> {
  const digest = createHash('sha256');
  for (const file of accounts === null ? [entries] : [entries, accounts]) {
    const facts = await stat(file, { bigint: true }).catch(() => null);
    digest.update(facts ? `${facts.ino} ${facts.size} ${facts.mtimeNs} ${facts.ctimeNs};` : 'absent;');
  }
  return digest.digest('hex').slice(0, 16);
}

const DEBITED_DAYS = readSql(import.meta.url, 'sql/debited-days.sql');
const AUDIT_COUNT = readSql(import.meta.url, 'sql/audit-count.sql');

/** Days that have debits in the archive and whose usage is neither there nor live any more. */
export async function missingUsage(
  engine: ArchiveEngine,
  { ledger, usage }: SummarisedArchive,
  firstLiveDay: number,
): Promise<string[]> {
  if (ledger.length === 0) return [];
  const archived = new Set(usage.map(({ source }) => source.day));
  const rows = await engine.rows(DEBITED_DAYS, { files: ledger.map(({ file }) => file) });
  const missing = rows
    .map((row) => integerOf(row, 'day'))
    .filter((day) => day < firstLiveDay && !archived.has(day))
    .sort((a, b) => a - b);
  return missing.map(
    (day) => `usage/${dateOfDay(day)} is missing: its debits cannot be held against anything`,
  );
}

/** The audit log's parts against what Redis says has left the live log. */
export async function auditProblems(
  engine: ArchiveEngine,
  redis: RedisClient,
  archive_dir: string,
): Promise<string[]> {
  const hash = await redis.hgetall(redisKeys.auditArchivedThrough);
  const carried = 'through' in hash ? auditArchivedThrough.parse(hash) : null;
  const parts = await listParts(archive_dir, 'audit');
  if (!carried) return [];
  if (parts.length === 0) return [`audit: ${carried.entries} entries were archived, and cannot be read here`];
  const { ms, seq } = parseStreamId(carried.through);
  const problems: string[] = [];
  let entries = 0;
  for (const part of parts) {
    try {
      const [row] = await engine.rows(AUDIT_COUNT, { file: part.entries, ms: BigInt(ms), seq: BigInt(seq) });
      entries += Number(row?.entries);
    } catch {
      problems.push(`audit/${part.name} cannot be read`);
    }
  }
  if (problems.length === 0 && entries !== carried.entries)
    problems.push(
      `audit: the archive holds ${entries} entries of the audit log; ${carried.entries} were carried over`,
    );
  return problems;
}
