-- Changes the state of an account: active <-> suspended, either -> closed. Closing revokes all keys and
-- removes all webhooks.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 keys     hash
--   3 webhooks, 4 deliveries, 5 log of deliveries
-- ARGV
--   1 now_ms
--   2 to       active | suspended | closed
-- Returns { 'changed' | 'unchanged', state } | { 'refused', state } | { 'unknown' }

local account, keys, webhooks, deliveries, log = unpack(KEYS)
local now_ms, to = ARGV[1], ARGV[2]

local state = redis.call('HGET', account, 'state')
if not state then
  return { 'unknown' }
elseif state == to then
  return { 'unchanged', state }
elseif state == 'closed' then
  return { 'refused', state }
end

redis.call('HSET', account, 'state', to)
if to == 'closed' then
  redis.call('DEL', webhooks, deliveries, log)
  local fields = redis.call('HGETALL', keys)
  for i = 1, #fields, 2 do
    local key_id = string.match(fields[i], '^(.*):state$')
    if key_id and fields[i + 1] == 'active' then
      redis.call('HSET', keys, fields[i], 'revoked', key_id .. ':revoked_at_ms', now_ms)
    end
  end
end
return { 'changed', to }
