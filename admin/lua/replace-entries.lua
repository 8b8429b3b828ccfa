-- Replaces entries of a hash, all or none: none if another operator has changed one of them since it was read.
--
-- KEYS
--   1 entries  hash: id -> JSON
-- ARGV, three for each entry
--   1 id
--   2 expected  the JSON that was read; '' for none
--   3 next      the JSON to store; '' removes the entry
-- Returns 1 when each `next` is stored, now or by an earlier try; 0 when one stored JSON is another than expected.

local entries = KEYS[1]

for i = 1, #ARGV, 3 do
  local stored = redis.call('HGET', entries, ARGV[i]) or ''
  if stored ~= ARGV[i + 1] and stored ~= ARGV[i + 2] then
    return 0
  end
end
for i = 1, #ARGV, 3 do
  local id, next = ARGV[i], ARGV[i + 2]
  if next == '' then
    redis.call('HDEL', entries, id)
  else
    redis.call('HSET', entries, id, next)
  end
end
return 1
