-- Takes over the oldest live entries of one account that a part holds: says so, and trims them, in one.
-- The entries are held against the part once more; whatever differs, nothing is trimmed.
--
-- KEYS, all with the account's hash tag
--   1 ledger   stream
--   2 carried  hash: through, at_ms, balance, entries
-- ARGV
--   1 first    id of the first entry to take over
--   2 through  id of the last one
--   3 at_ms    its time
--   4 entries  how many they are
--   5 opening  balance before the first
--   6 closing  balance after the last
-- Returns { 'carried' } | { 'repeated' } (it was taken over before) | { 'refused', why }

local ledger, carried = unpack(KEYS)
local first, through, at_ms = ARGV[1], ARGV[2], ARGV[3]
local entries, opening, closing = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])

local function parts_of(id)
  local ms, seq = string.match(id, '^(%d+)%-(%d+)$')
  return tonumber(ms), tonumber(seq)
end

local function is_before(a, b)
  local a_ms, a_seq = parts_of(a)
  local b_ms, b_seq = parts_of(b)
  return a_ms < b_ms or (a_ms == b_ms and a_seq < b_seq)
end

local standing = redis.call('HMGET', carried, 'through', 'balance')
if standing[1] and not is_before(standing[1], through) then
  return { 'repeated' }
elseif standing[1] and not is_before(standing[1], first) then
  return { 'refused', 'entries up to ' .. standing[1] .. ' have left before, and ' .. first .. ' is among them' }
elseif tonumber(standing[2] or 0) ~= opening then
  return { 'refused', 'what has left before closed with ' .. (standing[2] or 0) .. ', not with ' .. ARGV[5] }
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

redis.call('HSET', carried, 'through', through, 'at_ms', at_ms, 'balance', ARGV[6])
redis.call('HINCRBY', carried, 'entries', entries)
local ms, seq = parts_of(through)
redis.call('XTRIM', ledger, 'MINID', '=', string.format('%.0f-%.0f', ms, seq + 1))
return { 'carried' }
