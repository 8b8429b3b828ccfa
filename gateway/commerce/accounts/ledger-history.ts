/**
 * An account's ledger, newest first: live entries, then archived ones. Where the archive is not reachable (a gateway
 * on another machine, a directory that is not mounted), one `carry_forward` entry represents all archived ones, so that
 * the sum is still right.
 */
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { type LedgerArchivedThrough, ledgerArchivedThrough } from '../../../data/schema/archive.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import type { Archive } from '../archive/archive.ts';
import { compareStreamIds, type Gap, LAST_STREAM_ID, parseStreamId } from '../archive/entries.ts';
import type { LedgerEntry } from '../records.ts';
import { throwUnavailable } from '../redis-access.ts';
import { ledgerEntryOf } from '../redis-mappers.ts';
import { readAllPages, readLive } from './history.ts';

const MAX_PAGE = 1_000;

export interface LedgerQuery {
  /** Default 50, at most 1,000. */
  limit?: number;
  /** Id of the last entry already seen. */
  before?: string;
}

export interface LedgerPage {
  /** Newest first. */
  entries: LedgerEntry[];
  /** Unreadable entries that follow; null if nothing is missing. */
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
  const wanted = Math.min(limit, MAX_PAGE);
  const keys = {
    stream: redisKeys.ledger(account_id),
    archivedThrough: redisKeys.archivedThrough(account_id),
  };
  const stored = await readLive(redis, keys, { limit: wanted, before }).catch(throwUnavailable);
  const live = stored.live.map(ledgerEntryOf);
  if (!stored.archivedThrough || live.length === wanted) return { entries: live, gap: null };
  const archivedThrough = ledgerArchivedThrough.parse(stored.archivedThrough);
  const cursor = before === undefined ? LAST_STREAM_ID : parseStreamId(before);
  if (!archive || !(await archive.ledger.isReachable())) {
    const isSeen = compareStreamIds(cursor, parseStreamId(archivedThrough.through)) <= 0;
    return { entries: isSeen ? live : [...live, carryForward(archivedThrough)], gap: null };
  }
  const query = { archivedThrough, before: cursor, limit: wanted - live.length };
  const { entries, gap } = await archive.ledger.page(account_id, query);
  return { entries: [...live, ...entries.map(ledgerEntryOf)], gap };
}

const carryForward = ({ through, at_ms, balance, entries }: LedgerArchivedThrough): LedgerEntry => ({
  id: through,
  at_ms,
  kind: 'carry_forward',
  delta: balance,
  balance,
  cause: { by: 'archive' },
  reason: `represents ${entries} earlier entries in the archive, which cannot be read here`,
});

/** All entries of a ledger, newest first; gaps stand where entries cannot be read. */
export const readWholeLedger = (
  ledger: { ledgerPage(account_id: string, query: LedgerQuery): Promise<LedgerPage> },
  account_id: string,
): AsyncGenerator<LedgerEntry | Gap> =>
  readAllPages((query) => ledger.ledgerPage(account_id, query), MAX_PAGE);
