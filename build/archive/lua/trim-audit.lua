-- Takes over the oldest live entries of the audit log that a part holds: says so, and trims the log and the streams of
-- the subjects they are about, in one. Whatever differs from the part, nothing is trimmed.
--
-- KEYS, all with one hash tag
--   1 log      stream of all entries
--   2 carried  hash: through, entries
--   3.. subjects  streams of the subjects of these entries
-- ARGV
--   1 first    id of the first entry to take over
--   2 through  id of the last one
--   3 entries  how many they are
-- Returns { 'carried' } | { 'repeated' } (it was taken over before) | { 'refused', why }

local log, carried = KEYS[1], KEYS[2]
local first, through, entries = ARGV[1], ARGV[2], tonumber(ARGV[3])

local function parts_of(id)
  local ms, seq = string.match(id, '^(%d+)%-(%d+)$')
  return tonumber(ms), tonumber(seq)
end

local function is_before(a, b)
  local a_ms, a_seq = parts_of(a)
  local b_ms, b_seq = parts_of(b)
  return a_ms < b_ms or (a_ms == b_ms and a_seq < b_seq)
end

local standing = redis.call('HGET', carried, 'through')
if standing and not is_before(standing, through) then
  return { 'repeated' }
elseif standing and not is_before(standing, first) then
  return { 'refused', 'entries up to ' .. standing .. ' have left before, and ' .. first .. ' is among them' }
end

local live = redis.call('XRANGE', log, '-', through, 'COUNT', entries + 1)
if #live ~= entries then
  return { 'refused', #live .. ' entries are live up to ' .. through .. ', not ' .. entries }
elseif live[1][1] ~= first or live[entries][1] ~= through then
  return { 'refused', 'the live entries go from ' .. live[1][1] .. ' to ' .. live[entries][1] }
end

redis.call('HSET', carried, 'through', through)
redis.call('HINCRBY', carried, 'entries', entries)
local ms, seq = parts_of(through)
local rest = string.format('%.0f-%.0f', ms, seq + 1)
redis.call('XTRIM', log, 'MINID', '=', rest)
for i = 3, #KEYS do
  redis.call('XTRIM', KEYS[i], 'MINID', '=', rest)
  if redis.call('XLEN', KEYS[i]) == 0 then
    redis.call('DEL', KEYS[i]) -- one for every account that was ever looked at would stay, empty
  end
end
return { 'carried' }
