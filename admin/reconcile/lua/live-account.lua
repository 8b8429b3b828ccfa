-- Reads one account at one moment: wallet, archived-through counters, orders, usage and the start of the live ledger.
-- Changes nothing.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 archived_through  hash
--   3 ledger   stream
--   4 orders   zset of order ids
--   5.. usage  hashes, one a day
-- ARGV
--   1 count  how many of the oldest entries to return
-- Returns { { state, email, balance, granted, spent, paid }, archived_through as alternating names and values, id of the last
--   entry or '', order ids, credits used on each day, the oldest entries }

local account, archived_through, ledger, orders = unpack(KEYS)
local count = ARGV[1]

local last = redis.call('XREVRANGE', ledger, '+', '-', 'COUNT', 1)[1]
local used = {}
for i = 5, #KEYS do
  local credits, counters = 0, redis.call('HGETALL', KEYS[i])
  for at = 1, #counters, 2 do
    if string.sub(counters[at], -8) == '|credits' then
      credits = credits + tonumber(counters[at + 1])
    end
  end
  used[i - 4] = credits
end
return {
  redis.call('HMGET', account, 'state', 'email', 'balance', 'granted', 'spent', 'paid'),
  redis.call('HGETALL', archived_through),
  last and last[1] or '',
  redis.call('ZRANGE', orders, 0, -1),
  used,
  last and redis.call('XRANGE', ledger, '-', '+', 'COUNT', count) or {},
}
