-- Replaces one entry of a hash, unless another operator has changed it since it was read.
--
-- KEYS
--   1 entries  hash: id -> JSON
-- ARGV
--   1 id
--   2 expected  the JSON that was read; '' for none
--   3 next      the JSON to store; '' removes the entry
-- Returns 1 when `next` is stored, now or by an earlier try; 0 when the stored JSON is another than expected.

local entries = KEYS[1]
local id, expected, next = ARGV[1], ARGV[2], ARGV[3]

local stored = redis.call('HGET', entries, id) or ''
if stored == next then
  return 1
end
if stored ~= expected then
  return 0
end
if next == '' then
  redis.call('HDEL', entries, id)
else
  redis.call('HSET', entries, id, next)
end
return 1
