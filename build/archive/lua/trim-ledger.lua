-- Trims the oldest ledger entries of one account, which an archive part holds, and records how far the archive goes.
-- Trims nothing when the live entries differ from the part.
--
-- KEYS, all with the account's hash tag
--   1 ledger   stream
--   2 archived hash: through, at_ms, balance, entries
-- ARGV
--   1 first    id of the first entry to trim
--   2 through  id of the last one
--   3 at_ms    time of the last one
--   4 entries  number of entries
--   5 opening  balance before the first
--   6 closing  balance after the last
-- Returns { 'trimmed' } | { 'repeated' } (an earlier call trimmed them) | { 'refused', why }

local ledger, archived = unpack(KEYS)
local first, through, at_ms = ARGV[1], ARGV[2], ARGV[3]
local entries, opening, closing = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])

local function split_id(id)
  local ms, seq = string.match(id, '^(%d+)%-(%d+)$')
  return tonumber(ms), tonumber(seq)
end

local function is_before(a, b)
  local a_ms, a_seq = split_id(a)
  local b_ms, b_seq = split_id(b)
  return a_ms < b_ms or (a_ms == b_ms and a_seq < b_seq)
end

local last, last_balance = unpack(redis.call('HMGET', archived, 'through', 'balance'))
if last and not is_before(last, through) then
  return { 'repeated' }
elseif last and not is_before(last, first) then
  return { 'refused', 'entries up to ' .. last .. ' have left before, and ' .. first .. ' is among them' }
elseif tonumber(last_balance or 0) ~= opening then
  return { 'refused', 'what has left before closed with ' .. (last_balance or 0) .. ', not with ' .. ARGV[5] }
end

local live = redis.call('XRANGE', ledger, '-', through, 'COUNT', entries + 1)
if #live ~= entries then
  return { 'refused', #live .. ' entries are live up to ' .. through .. ', not ' .. entries }
elseif live[1][1] ~= first or live[entries][1] ~= through then
  return { 'refused', 'the live entries go from ' .. live[1][1] .. ' to ' .. live[entries][1] }
end
local balance = opening
for _, entry in ipairs(live) do
  local fields = entry[2]
  for i = 1, #fields, 2 do
    if fields[i] == 'delta' then
      balance = balance + tonumber(fields[i + 1])
    end
  end
end
if balance ~= closing then
  return { 'refused', 'the live entries close with ' .. string.format('%.0f', balance) .. ', not with ' .. ARGV[6] }
end

redis.call('HSET', archived, 'through', through, 'at_ms', at_ms, 'balance', ARGV[6])
redis.call('HINCRBY', archived, 'entries', entries)
local ms, seq = split_id(through)
redis.call('XTRIM', ledger, 'MINID', '=', string.format('%.0f-%.0f', ms, seq + 1))
return { 'trimmed' }
