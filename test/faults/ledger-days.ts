/** Fills the ledgers of a thousand accounts with days of debits, in the form that the admission script writes. */
import type { RedisClient } from '../../data/runtime/redis.ts';

const ACCOUNTS = 1_000;
const FILLED_AT_ONCE = 10;
const GRANT = 1_000_000;
const DAY_MS = 86_400_000;
const DAY_BEGINS_MS = Date.UTC(2026, 10, 20);

const accountId = (number: number): string => `acc_${String(number).padStart(16, '0')}`;

/** The first entry of the first day grants an account its credits; debits are spread over each day. */
const FILL = `
local from, to, each, grant, begins_ms, before = unpack(ARGV)
begins_ms, before = tonumber(begins_ms), tonumber(before)
for a = from, to do
  local id = string.format('acc_%016d', a)
  local tag = '{a:' .. id .. '}:'
  if before == 0 then
    redis.call('ZADD', 'accounts', begins_ms + a, id)
    redis.call('HSET', tag .. 'account', 'state', 'active', 'verified', '1', 'paid', '0', 'email', id .. '@example.org',
      'name', '', 'created_at_ms', ARGV[5], 'granted', grant)
    redis.call('XADD', tag .. 'ledger', ARGV[5] .. '-0', 'at_ms', ARGV[5], 'kind', 'grant', 'delta', grant,
      'balance', grant, 'by', 'sign-up')
  end
  redis.call('HSET', tag .. 'account', 'spent', before + each, 'balance', grant - before - each)
  for n = 1, each do
    local at_ms = string.format('%.0f', begins_ms + math.floor(n * 86399000 / each) + a % 1000)
    redis.call('XADD', tag .. 'ledger', at_ms .. '-0', 'at_ms', at_ms, 'kind', 'debit', 'delta', -1,
      'balance', grant - before - n,
      'request', string.format('req_%012d%08d', a, before + n), 'route', '/v1/countries/{iso3}', 'key', 'k' .. string.sub(id, 5),
      'rows', n % 60)
  end
end`;

export interface FullDay {
  /** Debits of this day, and on the first day one grant for each account. */
  entries: number;
  /** The midnight after this day. */
  ends_ms: number;
}

/**
 * @param debits per day, a multiple of a thousand
 * @param day days must be filled in order, from 0
 */
export async function fillDay(redis: RedisClient, debits: number, day = 0): Promise<FullDay> {
  const each = debits / ACCOUNTS;
  const begins_ms = DAY_BEGINS_MS + day * DAY_MS;
  for (let from = 0; from < ACCOUNTS; from += FILLED_AT_ONCE)
    await redis.eval(FILL, 0, from, from + FILLED_AT_ONCE - 1, each, GRANT, begins_ms, day * each);
  return { entries: debits + (day === 0 ? ACCOUNTS : 0), ends_ms: begins_ms + DAY_MS };
}

/** Number of ledger entries in Redis. */
export async function liveEntries(redis: RedisClient): Promise<number> {
  const counts = await Promise.all(
    Array.from({ length: ACCOUNTS }, (_, a) => redis.xlen(`{a:${accountId(a)}}:ledger`)),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
