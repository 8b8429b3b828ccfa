-- Revokes a key.
--
-- KEYS, all with the account's hash tag
--   1 keys      hash
--   2 webhooks  hash; where it exists the event is stored for it
-- ARGV
--   1 now_ms
--   2 key_id
-- Returns 'changed' | 'unchanged' (already revoked) | 'unknown'

local keys, webhooks = unpack(KEYS)
local now_ms, key_id = ARGV[1], ARGV[2]

local state = redis.call('HGET', keys, key_id .. ':state')
if not state then
  return 'unknown'
elseif state ~= 'active' then
  return 'unchanged'
end
redis.call('HSET', keys, key_id .. ':state', 'revoked', key_id .. ':revoked_at_ms', now_ms)
if redis.call('EXISTS', webhooks) == 1 then
  local data = { key_id = key_id, label = redis.call('HGET', keys, key_id .. ':label') or '' }
  redis.call('HSET', webhooks, 'event:key.revoked:' .. key_id,
    cjson.encode({ type = 'key.revoked', at_ms = tonumber(now_ms), data = data }))
end
return 'changed'
