-- Revokes a key.
--
-- KEYS
--   1 keys  hash, with the account's hash tag
-- ARGV
--   1 now_ms
--   2 key_id
-- Returns 'changed' | 'unchanged' (already revoked) | 'unknown'

local keys = KEYS[1]
local now_ms, key_id = ARGV[1], ARGV[2]

local state = redis.call('HGET', keys, key_id .. ':state')
if not state then
  return 'unknown'
elseif state ~= 'active' then
  return 'unchanged'
end
redis.call('HSET', keys, key_id .. ':state', 'revoked', key_id .. ':revoked_at_ms', now_ms)
return 'changed'
