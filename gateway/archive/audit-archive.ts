/** Archived entries of the audit log, newest first: all of them, or those of one subject. */
import type { AuditArchivedThrough } from '../../data/schema/archive.ts';
import { type ArchiveEngine, readSql } from './engine.ts';
import { type ArchivedPage, damagedPart, type Gap } from './page.ts';
import { listParts, type Part } from './parts.ts';
import { type ArchivedEntry, entryOf } from './rows.ts';
import {
  compareIds,
  earlierId,
  idAfter,
  LAST_ID,
  parseStreamId,
  type StreamId,
  textOfId,
} from './stream-id.ts';

const PAGE = readSql(import.meta.url, 'sql/audit-page.sql');

export interface AuditQuery {
  carried: AuditArchivedThrough;
  /** Null for the entries of all subjects. */
  subject: string | null;
  /** Entries older than this one. */
  before: StreamId;
  limit: number;
}

export class AuditArchive {
  readonly #directory: string;
  readonly #engine: ArchiveEngine;

  constructor(directory: string, engine: ArchiveEngine) {
    this.#directory = directory;
    this.#engine = engine;
  }

  async page({ carried, subject, before, limit }: AuditQuery): Promise<ArchivedPage> {
    const parts = (await listParts(this.#directory, 'audit')).reverse();
    const wanted = earlierId(before, idAfter(parseStreamId(carried.through)));
    const entries: ArchivedEntry[] = [];
    if (parts.length === 0)
      return {
        entries,
        gap: { says: 'Older entries are in the archive, which cannot be read here.', before: null },
      };
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

  async #read({ entries: file }: Part, subject: string, { ms, seq }: StreamId, limit: number) {
    const values = { file, subject, ms: BigInt(ms), seq: BigInt(seq), limit: BigInt(limit) };
    return (await this.#engine.rows(PAGE, values)).map(entryOf);
  }

  /** What cannot be shown of a damaged part; null when all of it is newer than what is wanted. */
  async #gapAt(damaged: Part, older: readonly Part[], wanted: StreamId): Promise<Gap | null> {
    for (const part of older) {
      const [newest] = await this.#read(part, '', LAST_ID, 1).catch(() => []);
      if (!newest) continue;
      const before = idAfter(parseStreamId(newest.id));
      return compareIds(before, wanted) < 0
        ? { says: damagedPart(damaged.name), before: textOfId(before) }
        : null;
    }
    return { says: damagedPart(damaged.name), before: null };
  }
}
