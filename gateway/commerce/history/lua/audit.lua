-- Appends an entry to the audit log and to the stream of its subject. A named entry is written once. An entry with a
-- pending one replaces it.
--
-- KEYS, all with one hash tag
--   1 log      stream of all entries
--   2 subject  stream of the subject's entries
--   3 once     string: set once a named entry was written
--   4 begun    hash: pending entries
-- ARGV
--   1 named    '1' if the entry has a name
--   2 pending  id of the pending entry; '' if there is none
--   3..        fields and values of the entry, alternating
-- Returns 1 if the entry was written, 0 if it existed already

local log, subject, once, begun = unpack(KEYS)
local named, pending = ARGV[1] == '1', ARGV[2]

local NAME_TTL_MS = 31536000000 -- one year: longer than any form stays open

local is_first
if named then
  is_first = redis.call('EXISTS', once) == 0
else
  is_first = pending == '' or redis.call('HEXISTS', begun, pending) == 1
end
if is_first then
  local id = redis.call('XADD', log, '*', unpack(ARGV, 3))
  redis.call('XADD', subject, id, unpack(ARGV, 3))
end
-- Last: if a command before it fails, the pending entry stays.
if named then
  redis.call('SET', once, '1', 'NX', 'PX', NAME_TTL_MS)
end
if pending ~= '' then
  redis.call('HDEL', begun, pending)
end
return is_first and 1 or 0
