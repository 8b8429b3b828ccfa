-- Replaces one indicator's override, unless another operator has changed it since it was read.
--
-- KEYS
--   1 overrides  hash: indicator id -> JSON
-- ARGV
--   1 id
--   2 expected  the JSON that was read; '' for none
--   3 next      the JSON to store; '' removes the override
-- Returns 1 when `next` is stored, now or by an earlier try; 0 when the stored JSON is another than expected.

local overrides = KEYS[1]
local id, expected, next = ARGV[1], ARGV[2], ARGV[3]

local stored = redis.call('HGET', overrides, id) or ''
if stored == next then
  return 1
end
if stored ~= expected then
  return 0
end
if next == '' then
  redis.call('HDEL', overrides, id)
else
  redis.call('HSET', overrides, id, next)
end
return 1
