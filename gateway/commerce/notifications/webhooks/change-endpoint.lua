-- Changes the URL and the event types of an endpoint. A disabled one is enabled again.
--
-- KEYS
--   1 webhooks  hash, with the account's hash tag
-- ARGV
--   1 endpoint_id
--   2 url
--   3 types  separated by spaces
-- Returns 'changed' | 'unknown'

local webhooks, endpoint_id = KEYS[1], ARGV[1]

if redis.call('HEXISTS', webhooks, endpoint_id .. ':url') == 0 then
  return 'unknown'
end
redis.call('HSET', webhooks, endpoint_id .. ':url', ARGV[2], endpoint_id .. ':types', ARGV[3])
redis.call('HDEL', webhooks, endpoint_id .. ':disabled_because', endpoint_id .. ':disabled_at_ms',
  endpoint_id .. ':failing_since_ms')
return 'changed'
