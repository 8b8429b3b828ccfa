-- Reads new ledger entries, adds up what calls cost in each window of time, and writes an event for the newest window with
-- more spending than set, once.
--
-- KEYS, all with the account's hash tag
--   1 spending  hash: above (credits), per_ms, seen (id of the last entry read), told (the newest window told of),
--               <window>:spent of the last two windows with calls
--   2 ledger    stream
--   3 outbox    hash: <type>:<id> -> JSON of an event that is to be told
-- ARGV
--   1 writes  '1' if the outbox is indexed; otherwise such a window is only reported
--   2 now_ms
-- Returns 'more' while the ledger has unread entries | 'passed' | 'nothing'
-- A refund counts for the window of its debit. Windows are numbered from the epoch.

local spending, ledger, outbox = unpack(KEYS)

local MAX_READ = 2000 -- bounds the run time; the next call reads the rest

local facts = redis.call('HMGET', spending, 'above', 'per_ms', 'seen', 'told')
if not facts[1] then
  return 'nothing'
end
local above, per_ms, seen = tonumber(facts[1]), tonumber(facts[2]), facts[3]
local told = tonumber(facts[4])

local spent, newest = {}, -1
local known = redis.call('HGETALL', spending)
for i = 1, #known, 2 do
  local window = tonumber(string.match(known[i], '^(%d+):spent$'))
  if window then
    spent[window] = tonumber(known[i + 1])
    newest = math.max(newest, window)
  end
end

local entries = redis.call('XRANGE', ledger, '(' .. seen, '+', 'COUNT', MAX_READ)
for _, entry in ipairs(entries) do
  seen = entry[1]
  local fields = {}
  for i = 1, #entry[2], 2 do
    fields[entry[2][i]] = entry[2][i + 1]
  end
  local at_ms = fields.kind == 'debit' and fields.at_ms or fields.kind == 'refund' and fields.of_ms
  if at_ms then
    local window = math.floor(tonumber(at_ms) / per_ms)
    spent[window] = (spent[window] or 0) - tonumber(fields.delta)
    newest = math.max(newest, window)
  end
end

redis.call('HSET', spending, 'seen', seen)
local passed
for window, credits in pairs(spent) do
  local field = string.format('%.0f:spent', window)
  if window >= newest - 1 then
    redis.call('HSET', spending, field, string.format('%.0f', credits))
    if credits > above and window > told and window > (passed or -1) then
      passed = window
    end
  else
    redis.call('HDEL', spending, field)
  end
end
if #entries == MAX_READ then
  return 'more'
elseif not passed then
  return 'nothing'
elseif ARGV[1] == '1' then
  redis.call('HSET', spending, 'told', string.format('%.0f', passed))
  local per = per_ms == 3600000 and 'hour' or 'day'
  local id = string.format('%s-%.0f-%s', per, passed, facts[1])
  local data = { spent = spent[passed], threshold = facts[1], per = per, since = passed * per_ms }
  redis.call('HSET', outbox, 'spending.above:' .. id,
    cjson.encode({ type = 'spending.above', at_ms = tonumber(ARGV[2]), data = data }))
end
return 'passed'
