-- Trims the oldest entries of the audit log, which an archive part holds, from the log and from the streams of their
-- subjects, and records how far the archive goes. Trims nothing when the live entries differ from the part.
--
-- KEYS, all with one hash tag
--   1 log      stream of all entries
--   2 archived hash: through, entries
--   3.. subjects  streams of the subjects of these entries
-- ARGV
--   1 first    id of the first entry to trim
--   2 through  id of the last one
--   3 entries  number of entries
-- Returns { 'trimmed' } | { 'repeated' } (an earlier call trimmed them) | { 'refused', why }

local log, archived = KEYS[1], KEYS[2]
local first, through, entries = ARGV[1], ARGV[2], tonumber(ARGV[3])

local function split_id(id)
  local ms, seq = string.match(id, '^(%d+)%-(%d+)$')
  return tonumber(ms), tonumber(seq)
end

local function is_before(a, b)
  local a_ms, a_seq = split_id(a)
  local b_ms, b_seq = split_id(b)
  return a_ms < b_ms or (a_ms == b_ms and a_seq < b_seq)
end

local last = redis.call('HGET', archived, 'through')
if last and not is_before(last, through) then
  return { 'repeated' }
elseif last and not is_before(last, first) then
  return { 'refused', 'entries up to ' .. last .. ' have left before, and ' .. first .. ' is among them' }
end

local live = redis.call('XRANGE', log, '-', through, 'COUNT', entries + 1)
if #live ~= entries then
  return { 'refused', #live .. ' entries are live up to ' .. through .. ', not ' .. entries }
elseif live[1][1] ~= first or live[entries][1] ~= through then
  return { 'refused', 'the live entries go from ' .. live[1][1] .. ' to ' .. live[entries][1] }
end

redis.call('HSET', archived, 'through', through)
redis.call('HINCRBY', archived, 'entries', entries)
local ms, seq = split_id(through)
local rest = string.format('%.0f-%.0f', ms, seq + 1)
redis.call('XTRIM', log, 'MINID', '=', rest)
for i = 3, #KEYS do
  redis.call('XTRIM', KEYS[i], 'MINID', '=', rest)
  if redis.call('XLEN', KEYS[i]) == 0 then
    redis.call('DEL', KEYS[i]) -- otherwise an empty stream stays for every subject
  end
end
return { 'trimmed' }
