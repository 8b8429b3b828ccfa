-- Sets or removes an alert about the ledger. What the ledger holds by then does not count.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 alert    hash: seen (id of the last entry read), and what count-crossings.lua and count-spending.lua need
--   3 ledger   stream
-- ARGV
--   field, value in turn; none removes the alert
-- Returns 'set' | 'closed' | 'unknown'

local account, alert, ledger = unpack(KEYS)

local state = redis.call('HGET', account, 'state')
if not state then
  return 'unknown'
elseif state == 'closed' then
  return 'closed'
end
redis.call('DEL', alert)
if #ARGV > 0 then
  local last = redis.call('XREVRANGE', ledger, '+', '-', 'COUNT', 1)[1]
  redis.call('HSET', alert, 'seen', last and last[1] or '0-0', unpack(ARGV))
end
return 'set'
