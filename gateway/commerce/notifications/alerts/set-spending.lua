-- Sets or removes the alert about spending. What was spent before does not count.
--
-- KEYS, all with the account's hash tag
--   1 account   hash
--   2 spending  hash: above, per_ms, seen, told, <window>:spent; see count-spending.lua
--   3 ledger    stream
-- ARGV
--   1 above   credits; 0 removes the alert
--   2 per_ms  length of a window
-- Returns 'set' | 'closed' | 'unknown'

local account, spending, ledger = unpack(KEYS)
local above, per_ms = tonumber(ARGV[1]), ARGV[2]

local state = redis.call('HGET', account, 'state')
if not state then
  return 'unknown'
elseif state == 'closed' then
  return 'closed'
end
redis.call('DEL', spending)
if above > 0 then
  local last = redis.call('XREVRANGE', ledger, '+', '-', 'COUNT', 1)[1]
  redis.call('HSET', spending, 'above', ARGV[1], 'per_ms', per_ms, 'seen', last and last[1] or '0-0', 'told', -1)
end
return 'set'
