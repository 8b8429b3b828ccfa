-- Revokes a key.
--
-- KEYS, all with the account's hash tag
--   1 keys    hash
--   2 outbox  hash: <type>:<id> -> JSON of an event that is to be told
-- ARGV
--   1 now_ms
--   2 key_id
--   3 by      who revokes it; '' tells nobody by mail
--   4 reason  that the mail states; '' for none
-- Returns 'changed' | 'unchanged' (already revoked) | 'unknown'

local keys, outbox = unpack(KEYS)
local now_ms, key_id, by, reason = unpack(ARGV)

local state = redis.call('HGET', keys, key_id .. ':state')
if not state then
  return 'unknown'
elseif state ~= 'active' then
  return 'unchanged'
end
redis.call('HSET', keys, key_id .. ':state', 'revoked', key_id .. ':revoked_at_ms', now_ms)
local data = { key_id = key_id, label = redis.call('HGET', keys, key_id .. ':label') or '' }
redis.call('HSET', outbox, 'key.revoked:' .. key_id,
  cjson.encode({ type = 'key.revoked', at_ms = tonumber(now_ms), by = by, reason = reason, data = data }))
return 'changed'
