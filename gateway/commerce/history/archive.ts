/**
 * The archive as pages read it: account history and audit log that have left Redis (see `data/schema/archive.ts`). New
 * parts are noticed without a restart. A missing directory is an empty archive.
 */

import { basename } from 'node:path';
import { readSql } from '../../../data/runtime/sql-files.ts';
import type { AuditArchivedThrough } from '../../../data/schema/archive.ts';
import { ArchiveEngine } from './engine.ts';
import {
  type ArchivedEntry,
  type ArchivedPage,
  archivedEntryOf,
  damagedPart,
  earlierStreamId,
  formatStreamId,
  type Gap,
  integerOf,
  LAST_STREAM_ID,
  NO_ARCHIVE,
  parseStreamId,
  partsOf,
  type StreamId,
} from './entries.ts';
import { LedgerArchive } from './ledger-archive.ts';
import { listParts, listUsage, type Part } from './parts.ts';

/** A page reads a few thousand rows. */
const LIMITS = { memoryMb: 192, threads: 2, timeoutMs: 20_000 };
const AUDIT_PAGE = readSql(import.meta.url, 'sql/audit-page.sql');
const USAGE_DAYS = readSql(import.meta.url, 'sql/usage-days.sql');

interface AuditQuery {
  archivedThrough: AuditArchivedThrough;
  /** Null for the entries of all subjects. */
  subject: string | null;
  /** Entries older than this one. */
  before: StreamId;
  limit: number;
}

export class Archive {
  readonly directory: string;
  readonly ledger: LedgerArchive;
  readonly #engine = new ArchiveEngine(LIMITS);

  /** DuckDB is opened by the first query. */
  constructor(directory: string) {
    this.directory = directory;
    this.ledger = new LedgerArchive(directory, this.#engine);
  }

  close(): Promise<void> {
    return this.#engine.close();
  }

  /** Archived entries of the audit log, newest first: all of them, or those of one subject. */
  async auditPage({ archivedThrough, subject, before, limit }: AuditQuery): Promise<ArchivedPage> {
    const parts = (await listParts(this.directory, 'audit')).reverse();
    const wanted = earlierStreamId(before, parseStreamId(archivedThrough.through) + 1n);
    const entries: ArchivedEntry[] = [];
    if (parts.length === 0) return { entries, gap: NO_ARCHIVE };
    for (const [index, part] of parts.entries()) {
      if (entries.length === limit) break;
      try {
        entries.push(...(await this.#read(part, subject ?? '', wanted, limit - entries.length)));
      } catch {
        const gap = await this.#gapAt(part, parts.slice(index + 1), wanted);
        if (gap) return { entries, gap };
      }
    }
    return { entries, gap: null };
  }

  async #read({ entries: file }: Part, subject: string, before: StreamId, limit: number) {
    const values = { file, subject, ...partsOf(before), limit: BigInt(limit) };
    return (await this.#engine.rows(AUDIT_PAGE, values)).map(archivedEntryOf);
  }

  /** The gap that a damaged part leaves; null when all of the part is newer than `wanted`. */
  async #gapAt(damaged: Part, older: readonly Part[], wanted: StreamId): Promise<Gap | null> {
    for (const part of older) {
      const [newest] = await this.#read(part, '', LAST_STREAM_ID, 1).catch(() => []);
      if (!newest) continue;
      const before = parseStreamId(newest.id) + 1n;
      return before < wanted ? { message: damagedPart(damaged.name), before: formatStreamId(before) } : null;
    }
    return { message: damagedPart(damaged.name), before: null };
  }

  /**
   * Archived days of one account before a date, oldest first, by route.
   * @throws the error of DuckDB when a day cannot be read: a report is complete or fails.
   */
  async usageBefore(account: string, date: string) {
    const files = (await listUsage(this.directory)).filter((day) => day.date < date).map(({ file }) => file);
    if (files.length === 0) return [];
    const rows = await this.#engine.rows(USAGE_DAYS, { files, account });
    return rows.map((row) => ({
      /** `2026-11-21` */
      date: basename(String(row.file), '.parquet'),
      route: String(row.route),
      requests: integerOf(row, 'requests'),
      errors: integerOf(row, 'errors'),
      rows: integerOf(row, 'rows'),
      credits: integerOf(row, 'credits'),
    }));
  }
}
