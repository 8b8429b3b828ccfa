-- Changes the label or the rules of a key that works.
--
-- KEYS, all with the account's hash tag
--   1 account  hash: state
--   2 keys     hash
-- ARGV
--   1 now_ms
--   2 key_id
--   3.. field, value in turn: label, or limit, ranges, origins and bound
-- Returns { 'changed' } | { 'unknown' } | { 'inactive', state of the account } | { 'refused', revoked | expired | replaced };
--   a key that was replaced can change its label alone

local account, keys = unpack(KEYS)
local now_ms, key_id = tonumber(ARGV[1]), ARGV[2]

local state = redis.call('HGET', account, 'state')
if not state then
  return { 'unknown' }
elseif state ~= 'active' then
  return { 'inactive', state }
end
local key = redis.call('HMGET', keys, key_id .. ':state', key_id .. ':expires_at_ms', key_id .. ':replaced_by')
local expires_at_ms = tonumber(key[2] or '')
if not key[1] then
  return { 'unknown' }
elseif key[1] ~= 'active' then
  return { 'refused', 'revoked' }
elseif expires_at_ms and expires_at_ms <= now_ms then
  return { 'refused', 'expired' }
elseif key[3] and ARGV[3] ~= 'label' then
  return { 'refused', 'replaced' }
end
for i = 3, #ARGV, 2 do
  redis.call('HSET', keys, key_id .. ':' .. ARGV[i], ARGV[i + 1])
end
return { 'changed' }
