/**
 * A ledger from its newest entry to its oldest: what is live, and then what the archive took over.
 *
 * How far the archive goes and what is live are read in one transaction, so that every entry is seen once, also while
 * the night moves some from one to the other.
 *
 * Where there is no archive to read (a gateway on another machine, a directory that is not mounted), one `carry_forward`
 * entry of the balance that was carried over stands for all that came before: the sum still holds.
 */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { type LedgerArchivedThrough, ledgerArchivedThrough } from '../../data/schema/archive.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { Archive } from '../archive/archive.ts';
import { compareStreamIds, type Gap, LAST_STREAM_ID, parseStreamId } from '../archive/entries.ts';
import type { LedgerEntry } from './records.ts';
import { ledgerEntryFrom, ledgerEntryOf } from './redis-mappers.ts';
import { unavailable } from './validation.ts';

const PAGE_AT_MOST = 500;

export interface LedgerQuery {
  /** 50 unless told; at most 500. */
  limit?: number;
  /** Id of the last entry already seen. */
  before?: string;
}

export interface LedgerPage {
  /** Newest first. */
  entries: LedgerEntry[];
  /** What comes after these entries and cannot be read; null when nothing is missing. */
  gap: Gap | null;
}

interface Sources {
  redis: RedisClient;
  archive?: Archive;
}

/** @throws {AccountError} `unavailable` */
export async function readLedgerPage(
  { redis, archive }: Sources,
  account_id: string,
  { limit = 50, before }: LedgerQuery,
): Promise<LedgerPage> {
  const wanted = Math.min(limit, PAGE_AT_MOST);
  const { carried, live } = await readLive(redis, account_id, wanted, before);
  if (!carried || live.length === wanted) return { entries: live, gap: null };
  const cursor = before === undefined ? LAST_STREAM_ID : parseStreamId(before);
  if (!archive || !(await archive.ledger.isReachable())) {
    const isSeen = compareStreamIds(cursor, parseStreamId(carried.through)) <= 0;
    return { entries: isSeen ? live : [...live, standIn(carried)], gap: null };
  }
  const query = { archivedThrough: carried, before: cursor, limit: wanted - live.length };
  const { entries, gap } = await archive.ledger.page(account_id, query);
  return { entries: [...live, ...entries.map(({ id, fields }) => ledgerEntryOf(id, fields))], gap };
}

async function readLive(
  redis: RedisClient,
  account_id: string,
  count: number,
  before: string | undefined,
): Promise<{ carried: LedgerArchivedThrough | null; live: LedgerEntry[] }> {
  const start = before === undefined ? '+' : `(${before}`;
  const replies = await redis
    .multi()
    .hgetall(redisKeys.archivedThrough(account_id))
    .xrevrange(redisKeys.ledger(account_id), start, '-', 'COUNT', count)
    .exec()
    .catch(unavailable);
  const [hash, entries] = (replies ?? []).map(([error, reply]) => (error ? unavailable(error) : reply));
  const isCarried = Object.keys(hash as object).length > 0;
  return {
    carried: isCarried ? ledgerArchivedThrough.parse(hash) : null,
    live: (entries as [string, string[]][]).map(ledgerEntryFrom),
  };
}

const standIn = ({ through, at_ms, balance, entries }: LedgerArchivedThrough): LedgerEntry => ({
  id: through,
  at_ms,
  kind: 'carry_forward',
  delta: balance,
  balance,
  cause: { by: 'archive' },
  reason: `stands for ${entries} earlier entries in the archive, which cannot be read here`,
});

/** A whole ledger, newest first; in between, what cannot be read. */
export async function* wholeLedger(
  pages: { ledgerPage(account_id: string, query: LedgerQuery): Promise<LedgerPage> },
  account_id: string,
): AsyncGenerator<LedgerEntry | Gap> {
  for (let before: string | undefined; ; ) {
    const query = { limit: PAGE_AT_MOST, ...(before !== undefined && { before }) };
    const { entries, gap } = await pages.ledgerPage(account_id, query);
    yield* entries;
    if (gap) yield gap;
    const last = entries.length < PAGE_AT_MOST ? undefined : entries.at(-1)?.id;
    before = gap ? (gap.before ?? undefined) : last;
    if (before === undefined) return;
  }
}
