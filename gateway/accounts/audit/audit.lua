-- Writes one entry of the audit log, and the same under its subject. A named entry is written once, and one that was
-- begun takes the place of its note.
--
-- KEYS, all with one hash tag
--   1 log      stream of all entries
--   2 subject  stream of the subject's entries
--   3 once     string that is set when a named entry was written
--   4 begun    hash: notes of changes that are under way
-- ARGV
--   1 named   '1' when the entry has a name
--   2 note    of the change, in `begun`; '' when there is none
--   3.. fields and values of the entry, alternating
-- Returns 1 when it was written, 0 when it had been before.

local log, subject, once, begun = unpack(KEYS)
local named, note = ARGV[1] == '1', ARGV[2]

local NAME_KEPT_MS = 31536000000 -- a year: longer than any form stays open

local is_first
if named then
  is_first = redis.call('EXISTS', once) == 0
else
  is_first = note == '' or redis.call('HEXISTS', begun, note) == 1
end
if is_first then
  local id = redis.call('XADD', log, '*', unpack(ARGV, 3))
  redis.call('XADD', subject, id, unpack(ARGV, 3))
end
-- Last, so that whatever fails before leaves the note.
if named then
  redis.call('SET', once, '1', 'NX', 'PX', NAME_KEPT_MS)
end
if note ~= '' then
  redis.call('HDEL', begun, note)
end
return is_first and 1 or 0
