-- Writes one entry of the audit log, and the same under its subject. A named entry is written once.
--
-- KEYS, all with one hash tag
--   1 log      stream of all entries
--   2 subject  stream of the subject's entries
--   3 once     string that is set when a named entry was written
-- ARGV
--   1 named   '1' when the entry has a name
--   2.. fields and values of the entry, alternating
-- Returns 1 when it was written, 0 when it had been before.

local log, subject, once = unpack(KEYS)
local named = ARGV[1] == '1'

local NAME_KEPT_MS = 31536000000 -- a year: longer than any form stays open

if named and not redis.call('SET', once, '1', 'NX', 'PX', NAME_KEPT_MS) then
  return 0
end
local id = redis.call('XADD', log, '*', unpack(ARGV, 2))
redis.call('XADD', subject, id, unpack(ARGV, 2))
return 1
