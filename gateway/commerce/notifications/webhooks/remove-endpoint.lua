-- Removes an endpoint with its deliveries.
--
-- KEYS, all with the account's hash tag
--   1 webhooks    hash
--   2 deliveries  zset
--   3 log         hash
-- ARGV
--   1 endpoint_id
-- Returns 'removed' | 'unknown'

local webhooks, deliveries, log = unpack(KEYS)
local prefix = ARGV[1] .. ':'

if redis.call('HEXISTS', webhooks, prefix .. 'url') == 0 then
  return 'unknown'
end
for _, field in ipairs(redis.call('HKEYS', webhooks)) do
  if string.sub(field, 1, #prefix) == prefix then
    redis.call('HDEL', webhooks, field)
  end
end
for _, name in ipairs(redis.call('ZRANGE', deliveries, 0, -1)) do
  if string.sub(name, 1, #prefix) == prefix then
    redis.call('ZREM', deliveries, name)
    redis.call('HDEL', log, name, name .. ':state', name .. ':attempts')
  end
end
return 'removed'
