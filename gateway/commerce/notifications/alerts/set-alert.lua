-- Sets or removes the low-balance alert. A balance that is already below the threshold is not a crossing.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 alert    hash: low_at, seen
--   3 ledger   stream
-- ARGV
--   1 low_at  threshold in credits; 0 removes the alert
-- Returns 'set' | 'closed' | 'unknown'

local account, alert, ledger = unpack(KEYS)
local low_at = tonumber(ARGV[1])

local state = redis.call('HGET', account, 'state')
if not state then
  return 'unknown'
elseif state == 'closed' then
  return 'closed'
end
redis.call('DEL', alert)
if low_at > 0 then
  local last = redis.call('XREVRANGE', ledger, '+', '-', 'COUNT', 1)[1]
  redis.call('HSET', alert, 'low_at', ARGV[1], 'seen', last and last[1] or '0-0')
end
return 'set'
