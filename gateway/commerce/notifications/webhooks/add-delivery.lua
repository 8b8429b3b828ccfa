-- Enters a delivery in the log, unless its endpoint is gone. Only the newest deliveries of an endpoint are kept, and none
-- that is too old.
--
-- KEYS, all with the account's hash tag
--   1 webhooks    hash
--   2 deliveries  zset: <endpoint id>:<message id> by the time of the event
--   3 log         hash: that name -> JSON (type, at_ms, body), name:state, name:attempts (JSON)
-- ARGV
--   1 endpoint_id
--   2 message_id
--   3 delivery    JSON
--   4 at_ms       of the event
--   5 oldest_ms   what is older is removed
--   6 most        deliveries kept of an endpoint
--   7 ttl_ms      life of the log without a new delivery
-- Returns 'added' | 'gone' | the state of a delivery that was entered before

local webhooks, deliveries, log = unpack(KEYS)
local endpoint_id, name, most = ARGV[1], ARGV[1] .. ':' .. ARGV[2], tonumber(ARGV[6])

if redis.call('HEXISTS', webhooks, endpoint_id .. ':url') == 0 then
  return 'gone'
end
local known = redis.call('HGET', log, name .. ':state')
if known then
  return known
end
redis.call('ZADD', deliveries, ARGV[4], name)
redis.call('HSET', log, name, ARGV[3], name .. ':state', 'waiting', name .. ':attempts', '[]')

local function forget(old)
  redis.call('ZREM', deliveries, old)
  redis.call('HDEL', log, old, old .. ':state', old .. ':attempts')
end
for _, old in ipairs(redis.call('ZRANGE', deliveries, '-inf', '(' .. ARGV[5], 'BYSCORE')) do
  forget(old)
end
local kept = 0
for _, other in ipairs(redis.call('ZRANGE', deliveries, 0, -1, 'REV')) do
  if string.sub(other, 1, #endpoint_id + 1) == endpoint_id .. ':' then
    kept = kept + 1
    if kept > most then
      forget(other)
    end
  end
end
redis.call('PEXPIRE', deliveries, ARGV[7])
redis.call('PEXPIRE', log, ARGV[7])
return 'added'
