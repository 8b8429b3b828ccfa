-- Removes an endpoint with its deliveries. With the last one the events that wait go too.
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
local others = 0
for _, field in ipairs(redis.call('HKEYS', webhooks)) do
  if string.sub(field, 1, #prefix) == prefix then
    redis.call('HDEL', webhooks, field)
  elseif string.match(field, '^[^:]+:url$') then
    others = others + 1
  end
end
if others == 0 then
  redis.call('DEL', webhooks, deliveries, log)
  return 'removed'
end
for _, name in ipairs(redis.call('ZRANGE', deliveries, 0, -1)) do
  if string.sub(name, 1, #prefix) == prefix then
    redis.call('ZREM', deliveries, name)
    redis.call('HDEL', log, name, name .. ':state', name .. ':attempts')
  end
end
return 'removed'
