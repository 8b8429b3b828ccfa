-- Reads new ledger entries, and adds up what calls cost in each window of time.
--
-- KEYS, all with the account's hash tag
--   1 spending  hash: above (credits), per_ms, seen (id of the last entry read), told (the newest window told of),
--               <window>:spent of the last two windows with calls
--   2 ledger    stream
-- ARGV
--   1 told    window that the holder was told of; '' for none
--   2 above   what had been set when that window was found; '' for none
--   3 per_ms  likewise
-- Returns { entries read, window, spent in it, above, per_ms }: the newest window with more spending than set that the holder
-- was not told of, as text, '' for none; without an alert only the first three. A refund counts for the window of its debit.
-- Windows are numbered from the epoch. Nothing counts as told where the alert was changed after it had been found.

local spending, ledger = unpack(KEYS)

local MAX_READ = 2000 -- bounds the run time; the next call reads the rest

local facts = redis.call('HMGET', spending, 'above', 'per_ms', 'seen', 'told')
if not facts[1] then
  return { 0, '', '0' }
end
local above, per_ms, seen = tonumber(facts[1]), tonumber(facts[2]), facts[3]
local told = tonumber(facts[4])
if facts[1] == ARGV[2] and facts[2] == ARGV[3] then
  told = math.max(told, tonumber(ARGV[1]))
end

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

redis.call('HSET', spending, 'seen', seen, 'told', told)
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
if not passed then
  return { #entries, '', '0', facts[1], facts[2] }
end
return { #entries, string.format('%.0f', passed), string.format('%.0f', spent[passed]), facts[1], facts[2] }
