/**
 * The audit log from its newest entry to its oldest: what is live, and then what the archive took over. How far the
 * archive goes and what is live are read in one transaction, so that every entry is seen once.
 */
import { fieldsToRecord, type RedisClient } from '../../../data/runtime/redis.ts';
import { type AuditArchivedThrough, auditArchivedThrough } from '../../../data/schema/archive.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import type { Archive } from '../../archive/archive.ts';
import {
  compareStreamIds,
  type Fields,
  type Gap,
  LAST_STREAM_ID,
  parseStreamId,
} from '../../archive/entries.ts';

export interface AuditQuery {
  /** All subjects unless told. */
  subject?: string;
  /** 50 unless told; at most 1,000. */
  limit?: number;
  /** Id of the last entry already seen. */
  before?: string;
}

interface StoredPage {
  /** Newest first. */
  entries: { id: string; fields: Fields }[];
  /** What comes after these entries and cannot be read; null when nothing is missing. */
  gap: Gap | null;
}

const PAGE_AT_MOST = 1_000;
const NOT_HERE: Gap = {
  message: 'Older entries are in the archive, which cannot be read here.',
  before: null,
};

/** Rejects with what Redis says. */
export async function readAuditPage(
  redis: RedisClient,
  archive: Archive | null,
  { subject, limit = 50, before }: AuditQuery,
): Promise<StoredPage> {
  const wanted = Math.min(limit, PAGE_AT_MOST);
  const key = subject === undefined ? redisKeys.audit : redisKeys.auditOf(subject);
  const { carried, live } = await readLive(redis, key, wanted, before);
  if (!carried || live.length === wanted) return { entries: live, gap: null };
  if (!archive) return { entries: live, gap: NOT_HERE };
  const { entries, gap } = await archive.audit.page({
    archivedThrough: carried,
    subject: subject ?? null,
    before: before === undefined ? LAST_STREAM_ID : parseStreamId(before),
    limit: wanted - live.length,
  });
  return { entries: [...live, ...entries], gap };
}

async function readLive(
  redis: RedisClient,
  key: string,
  count: number,
  before: string | undefined,
): Promise<{ carried: AuditArchivedThrough | null; live: StoredPage['entries'] }> {
  const start = before === undefined ? '+' : `(${before}`;
  const replies = await redis
    .multi()
    .hgetall(redisKeys.auditArchivedThrough)
    .xrevrange(key, start, '-', 'COUNT', count)
    .exec();
  const [hash, entries] = (replies ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
  const carried = Object.keys(hash as object).length > 0 ? auditArchivedThrough.parse(hash) : null;
  const live = (entries as [string, string[]][]).map(([id, flat]) => ({ id, fields: fieldsToRecord(flat) }));
  // A stream of one subject may be trimmed after the log itself.
  const through = carried ? parseStreamId(carried.through) : null;
  return {
    carried,
    live: live.filter(({ id }) => !through || compareStreamIds(parseStreamId(id), through) > 0),
  };
}
