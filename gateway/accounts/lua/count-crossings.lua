-- Reads on in the ledger, and counts how often the balance went from its person's threshold or above to below it.
--
-- KEYS, all with the account's hash tag
--   1 alert   hash: low_at, seen (id of the last entry that was read), crossings, told (crossings that were told)
--   2 ledger  stream
-- ARGV
--   1 told  crossings that the person has been told of, or 0
-- Returns the number of crossings when some are not told yet, otherwise 0

local alert, ledger = unpack(KEYS)
local told_now = tonumber(ARGV[1])

local READ_AT_MOST = 2000 -- more than an account can spend between two looks; the rest is read at the next one

local facts = redis.call('HMGET', alert, 'low_at', 'seen', 'crossings', 'told')
if not facts[1] then
  return 0
end
local low_at, seen, crossings, told = tonumber(facts[1]), facts[2], tonumber(facts[3]), tonumber(facts[4])

for _, entry in ipairs(redis.call('XRANGE', ledger, '(' .. seen, '+', 'COUNT', READ_AT_MOST)) do
  seen = entry[1]
  local fields = {}
  for i = 1, #entry[2], 2 do
    fields[entry[2][i]] = entry[2][i + 1]
  end
  local balance, delta = tonumber(fields.balance), tonumber(fields.delta)
  if delta < 0 and balance < low_at and balance - delta >= low_at then
    crossings = crossings + 1
  end
end
told = math.max(told, told_now)
redis.call('HSET', alert, 'seen', seen, 'crossings', crossings, 'told', told)
return crossings > told and crossings or 0
