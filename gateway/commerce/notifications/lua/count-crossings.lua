-- Reads new ledger entries and counts how often the balance fell below the alert threshold. Webhooks are told of the last
-- time in them.
--
-- KEYS, all with the account's hash tag
--   1 alert   hash: low_at, seen (id of the last entry read), crossings, told (crossings notified)
--   2 ledger  stream
--   3 webhooks  hash; where it exists the event is stored for it
-- ARGV
--   1 notified  crossings notified so far, or 0
-- Returns the number of crossings if some were not notified yet, otherwise 0

local alert, ledger, webhooks = unpack(KEYS)
local notified = tonumber(ARGV[1])

local MAX_READ = 2000 -- bounds the run time; the next call reads the rest

local facts = redis.call('HMGET', alert, 'low_at', 'seen', 'crossings', 'told')
if not facts[1] then
  return 0
end
local low_at, seen, crossings, told = tonumber(facts[1]), facts[2], tonumber(facts[3]), tonumber(facts[4])

local last
for _, entry in ipairs(redis.call('XRANGE', ledger, '(' .. seen, '+', 'COUNT', MAX_READ)) do
  seen = entry[1]
  local fields = {}
  for i = 1, #entry[2], 2 do
    fields[entry[2][i]] = entry[2][i + 1]
  end
  local balance, delta = tonumber(fields.balance), tonumber(fields.delta)
  if delta < 0 and balance < low_at and balance - delta >= low_at then
    crossings = crossings + 1
    last = { id = seen, at_ms = tonumber(fields.at_ms), balance = balance }
  end
end
if last and redis.call('EXISTS', webhooks) == 1 then
  local data = { balance = last.balance, threshold = low_at }
  redis.call('HSET', webhooks, 'event:credits.low:' .. last.id,
    cjson.encode({ type = 'credits.low', at_ms = last.at_ms, data = data }))
end
-- The alert may have been removed and set again since.
told = math.max(told, math.min(notified, crossings))
redis.call('HSET', alert, 'seen', seen, 'crossings', crossings, 'told', told)
return crossings > told and crossings or 0
