/** What ledger and audit log share: both are Redis streams whose older entries are moved to the archive. */
import { fieldsToRecord, type RedisClient } from '../../../data/runtime/redis.ts';
import type { ArchivedEntry, Fields, Gap, PageOf } from './entries.ts';

/**
 * Reads live entries, newest first, and the hash that says how far the archive goes (null if nothing is archived). One
 * transaction reads both, so that no entry is missed or read twice while the nightly run archives some. Rejects with
 * errors of Redis.
 */
export async function readLive(
  redis: RedisClient,
  keys: { stream: string; archivedThrough: string },
  { limit, before }: { limit: number; before?: string | undefined },
): Promise<{ archivedThrough: Fields | null; live: ArchivedEntry[] }> {
  const start = before === undefined ? '+' : `(${before}`;
  const replies = await redis
    .multi()
    .hgetall(keys.archivedThrough)
    .xrevrange(keys.stream, start, '-', 'COUNT', limit)
    .exec();
  const [hash, entries] = (replies ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  }) as [Fields, [string, string[]][]];
  return {
    archivedThrough: Object.keys(hash).length > 0 ? hash : null,
    live: entries.map(([id, flat]) => ({ id, fields: fieldsToRecord(flat) })),
  };
}

/** All entries, newest first; gaps stand where entries cannot be read. */
export async function* readAllPages<Entry extends { id: string }>(
  readPage: (query: { limit: number; before?: string }) => Promise<PageOf<Entry>>,
  limit: number,
): AsyncGenerator<Entry | Gap> {
  for (let before: string | null | undefined; before !== null; ) {
    const { entries, gap } = await readPage({ limit, ...(before !== undefined && { before }) });
    yield* entries;
    if (gap) yield gap;
    const last = entries.length < limit ? null : (entries.at(-1)?.id ?? null);
    before = gap ? gap.before : last;
  }
}
