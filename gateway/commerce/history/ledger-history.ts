/**
 * An account's ledger, newest first: live entries, then archived ones. Where the archive is not reachable (a gateway
 * on another machine, a directory that is not mounted), one `carry_forward` entry represents all archived ones, so that
 * the sum is still right.
 */
import { fieldsToRecord, type RedisClient } from '../../../data/runtime/redis.ts';
import { type LedgerArchivedThrough, ledgerArchivedThrough } from '../../../data/schema/archive.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { parseIndicators } from '../../api/metering/metering.ts';
import { type Hash, type LedgerEntry, type LedgerKind, numberOr, throwUnavailable } from '../store/store.ts';
import type { Archive } from './archive.ts';
import {
  type Gap,
  LAST_STREAM_ID,
  type PageOf,
  type PageQuery,
  parseStreamId,
  readAllPages,
  readLive,
} from './entries.ts';

const MAX_PAGE = 1_000;

export type LedgerQuery = PageQuery;

export type LedgerPage = PageOf<LedgerEntry>;

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
  const live = stored.live.map(parseLedgerEntry);
  if (!stored.archivedThrough || live.length === wanted) return { entries: live, gap: null };
  const archivedThrough = ledgerArchivedThrough.parse(stored.archivedThrough);
  const cursor = before === undefined ? LAST_STREAM_ID : parseStreamId(before);
  if (!archive || !(await archive.ledger.isReachable())) {
    const isSeen = cursor <= parseStreamId(archivedThrough.through);
    return { entries: isSeen ? live : [...live, carryForward(archivedThrough)], gap: null };
  }
  const query = { archivedThrough, before: cursor, limit: wanted - live.length };
  const { entries, gap } = await archive.ledger.page(account_id, query);
  return { entries: [...live, ...entries.map(parseLedgerEntry)], gap };
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

/** From a stream entry: its id, and names and values of its fields in turn. */
export function ledgerEntryFrom([id, fields]: [id: string, fields: string[]]): LedgerEntry {
  return parseLedgerEntry({ id, fields: fieldsToRecord(fields) });
}

/** From an entry's fields, live or archived. */
function parseLedgerEntry({ id, fields: hash }: { id: string; fields: Hash }): LedgerEntry {
  return {
    id,
    at_ms: numberOr(hash.at_ms, 0),
    kind: hash.kind as LedgerKind,
    delta: numberOr(hash.delta, 0),
    balance: numberOr(hash.balance, 0),
    cause: causeFrom(hash),
    reason: hash.reason || null,
  };
}

function causeFrom(hash: Hash): LedgerEntry['cause'] {
  if (hash.order) return { order_id: hash.order };
  if (!hash.route) return { by: hash.by ?? '' };
  return {
    request_id: hash.request ?? '',
    route: hash.route,
    key_id: hash.key ?? '',
    rows: numberOr(hash.rows, 0),
    ...(hash.indicators && parseIndicators(hash.indicators)),
    ...(hash.of_ms && { of_ms: Number(hash.of_ms) }),
  };
}
