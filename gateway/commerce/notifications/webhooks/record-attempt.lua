-- Records an attempt of a delivery with its endpoint, and disables an endpoint that is gone or has failed for too long.
--
-- KEYS, all with the account's hash tag
--   1 webhooks  hash
--   2 log       hash
--   3 outbox    hash: <type>:<id> -> JSON of an event that is to be told
-- ARGV
--   1 endpoint_id
--   2 message_id
--   3 state             of the delivery from now on: waiting | delivered | failed
--   4 attempts          JSON
--   5 outcome           delivered | failed | gone
--   6 now_ms
--   7 disable_after_ms  of failures only
-- Returns 'recorded' | 'disabled' (the endpoint, now) | 'removed' (there is no such endpoint)

local webhooks, log, outbox = unpack(KEYS)
local endpoint_id, name, outcome, now_ms = ARGV[1], ARGV[1] .. ':' .. ARGV[2], ARGV[5], tonumber(ARGV[6])
local function field(of)
  return endpoint_id .. ':' .. of
end

if redis.call('HEXISTS', webhooks, field('url')) == 0 then
  return 'removed'
end
-- A delivery may have been pushed out of the log meanwhile.
if redis.call('HEXISTS', log, name) == 1 then
  redis.call('HSET', log, name .. ':state', ARGV[3], name .. ':attempts', ARGV[4])
end
if outcome == 'delivered' then
  redis.call('HDEL', webhooks, field('failing_since_ms'))
  return 'recorded'
end
redis.call('HSETNX', webhooks, field('failing_since_ms'), now_ms)
local failing_ms = now_ms - tonumber(redis.call('HGET', webhooks, field('failing_since_ms')))
local because = outcome == 'gone' and 'gone' or failing_ms >= tonumber(ARGV[7]) and 'failures'
if not because or redis.call('HEXISTS', webhooks, field('disabled_because')) == 1 then
  return 'recorded'
end
redis.call('HSET', webhooks, field('disabled_because'), because, field('disabled_at_ms'), now_ms)
redis.call('HSET', outbox, 'webhook.disabled:' .. endpoint_id .. ':' .. ARGV[6],
  cjson.encode({ type = 'webhook.disabled', at_ms = now_ms, data = { endpoint_id = endpoint_id } }))
return 'disabled'
