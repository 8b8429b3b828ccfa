-- Reads new ledger entries, and writes an event if the balance fell below the alert threshold: about the last time.
--
-- KEYS, all with the account's hash tag
--   1 alert   hash: low_at, seen (id of the last entry read)
--   2 ledger  stream
--   3 outbox  hash: <type>:<id> -> JSON of an event that is to be told
-- ARGV
--   1 writes  '1' if the outbox is indexed; otherwise a crossing is only reported
-- Returns 'passed' if there was a crossing, otherwise 'nothing'

local alert, ledger, outbox = unpack(KEYS)

local MAX_READ = 2000 -- bounds the run time; the next call reads the rest

local facts = redis.call('HMGET', alert, 'low_at', 'seen')
if not facts[1] then
  return 'nothing'
end
local low_at, seen = tonumber(facts[1]), facts[2]

local last
for _, entry in ipairs(redis.call('XRANGE', ledger, '(' .. seen, '+', 'COUNT', MAX_READ)) do
  seen = entry[1]
  local fields = {}
  for i = 1, #entry[2], 2 do
    fields[entry[2][i]] = entry[2][i + 1]
  end
  local balance, delta = tonumber(fields.balance), tonumber(fields.delta)
  if delta < 0 and balance < low_at and balance - delta >= low_at then
    last = { id = seen, at_ms = tonumber(fields.at_ms), balance = balance }
  end
end
if last and ARGV[1] ~= '1' then
  return 'passed'
end
redis.call('HSET', alert, 'seen', seen)
if not last then
  return 'nothing'
end
local data = { balance = last.balance, threshold = low_at }
redis.call('HSET', outbox, 'credits.low:' .. last.id,
  cjson.encode({ type = 'credits.low', at_ms = last.at_ms, data = data }))
return 'passed'
