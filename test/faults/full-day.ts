/** A day of as many debits as asked for, written to the ledgers of a thousand accounts as the admission script writes them. */
import type { RedisClient } from '../../data/runtime/redis.ts';

const ACCOUNTS = 1_000;
const FILLED_AT_ONCE = 10;
const GRANT = 1_000_000;
const DAY_MS = 86_400_000;
const DAY_BEGINS_MS = Date.UTC(2026, 10, 20);

const accountId = (number: number): string => `acc_${String(number).padStart(16, '0')}`;

/** Each account is granted its credits in the first entry and calls all through the day. */
const FILL = `
local from, to, each, grant, begins_ms = unpack(ARGV)
for a = from, to do
  local id = string.format('acc_%016d', a)
  local tag = '{a:' .. id .. '}:'
  redis.call('ZADD', 'accounts', begins_ms + a, id)
  redis.call('HSET', tag .. 'account', 'state', 'active', 'verified', '1', 'paid', '0', 'email', id .. '@example.org',
    'name', '', 'created_at_ms', begins_ms, 'granted', grant, 'spent', each, 'balance', grant - each)
  redis.call('XADD', tag .. 'ledger', begins_ms .. '-0', 'at_ms', begins_ms, 'kind', 'grant', 'delta', grant,
    'balance', grant, 'by', 'sign-up')
  for n = 1, each do
    local at_ms = string.format('%.0f', begins_ms + math.floor(n * 86399000 / each) + a % 1000)
    redis.call('XADD', tag .. 'ledger', at_ms .. '-0', 'at_ms', at_ms, 'kind', 'debit', 'delta', -1, 'balance', grant - n,
      'request', string.format('req_%012d%08d', a, n), 'route', '/v1/countries/{iso3}', 'key', 'k' .. string.sub(id, 5),
      'rows', n % 60)
  end
end`;

export interface FullDay {
  /** Entries in all: debits, and a grant each. */
  entries: number;
  /** The midnight after it. */
  ends_ms: number;
}

/** @param debits of the day, a multiple of a thousand */
export async function fillDay(redis: RedisClient, debits: number): Promise<FullDay> {
  for (let from = 0; from < ACCOUNTS; from += FILLED_AT_ONCE) {
    const facts = [from, from + FILLED_AT_ONCE - 1, debits / ACCOUNTS, GRANT, DAY_BEGINS_MS];
    await redis.eval(FILL, 0, ...facts);
  }
  return { entries: debits + ACCOUNTS, ends_ms: DAY_BEGINS_MS + DAY_MS };
}

/** How many entries are live. */
export async function liveEntries(redis: RedisClient): Promise<number> {
  const counts = await Promise.all(
    Array.from({ length: ACCOUNTS }, (_, a) => redis.xlen(`{a:${accountId(a)}}:ledger`)),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
