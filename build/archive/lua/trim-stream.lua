-- Trims the oldest entries of a stream, which an archive part holds, and records how far the archive goes. Trims nothing
-- when the live entries differ from the part.
--
-- KEYS, all with one hash tag
--   1 stream   ledger of an account, or the audit log
--   2 archived hash: through, entries; of a ledger also at_ms, balance
--   3.. copies streams that hold some of the same entries under the same ids: those of audit subjects
-- ARGV
--   1 first    id of the first entry to trim
--   2 through  id of the last one
--   3 entries  number of entries
-- and of a ledger
--   4 at_ms    time of the last one
--   5 opening  balance before the first
--   6 closing  balance after the last
-- Returns { 'trimmed' } | { 'repeated' } (an earlier call trimmed them) | { 'refused', why }

local stream, archived = KEYS[1], KEYS[2]
local first, through, entries = ARGV[1], ARGV[2], tonumber(ARGV[3])
local at_ms, opening, closing = ARGV[4], ARGV[5], ARGV[6]

local function split_id(id)
  local ms, seq = string.match(id, '^(%d+)%-(%d+)$')
  return tonumber(ms), tonumber(seq)
end

local function is_before(a, b)
  local a_ms, a_seq = split_id(a)
  local b_ms, b_seq = split_id(b)
  return a_ms < b_ms or (a_ms == b_ms and a_seq < b_seq)
end

-- The sum of what ledger entries move.
local function moved(list)
  local sum = 0
  for _, entry in ipairs(list) do
    local fields = entry[2]
    for i = 1, #fields, 2 do
      if fields[i] == 'delta' then
        sum = sum + tonumber(fields[i + 1])
      end
    end
  end
  return sum
end

local last, last_balance = unpack(redis.call('HMGET', archived, 'through', 'balance'))
if last and not is_before(last, through) then
  return { 'repeated' }
elseif last and not is_before(last, first) then
  return { 'refused', 'entries up to ' .. last .. ' have left before, and ' .. first .. ' is among them' }
elseif opening and tonumber(last_balance or 0) ~= tonumber(opening) then
  return { 'refused', 'what has left before closed with ' .. (last_balance or 0) .. ', not with ' .. opening }
end

local live = redis.call('XRANGE', stream, '-', through, 'COUNT', entries + 1)
if #live ~= entries then
  return { 'refused', #live .. ' entries are live up to ' .. through .. ', not ' .. entries }
elseif live[1][1] ~= first or live[entries][1] ~= through then
  return { 'refused', 'the live entries go from ' .. live[1][1] .. ' to ' .. live[entries][1] }
end
if opening then
  local balance = tonumber(opening) + moved(live)
  if balance ~= tonumber(closing) then
    return { 'refused', 'the live entries close with ' .. string.format('%.0f', balance) .. ', not with ' .. closing }
  end
  redis.call('HSET', archived, 'at_ms', at_ms, 'balance', closing)
end

redis.call('HSET', archived, 'through', through)
redis.call('HINCRBY', archived, 'entries', entries)
local ms, seq = split_id(through)
local rest = string.format('%.0f-%.0f', ms, seq + 1)
redis.call('XTRIM', stream, 'MINID', '=', rest)
for i = 3, #KEYS do
  redis.call('XTRIM', KEYS[i], 'MINID', '=', rest)
  if redis.call('XLEN', KEYS[i]) == 0 then
    redis.call('DEL', KEYS[i]) -- otherwise an empty stream stays for every subject
  end
end
return { 'trimmed' }
