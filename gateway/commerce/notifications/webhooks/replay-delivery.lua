-- Lets a delivery wait for another attempt.
--
-- KEYS, all with the account's hash tag
--   1 webhooks  hash
--   2 log       hash
-- ARGV
--   1 endpoint_id
--   2 message_id
-- Returns 'waiting' | 'unknown' | 'disabled' (its endpoint)

local webhooks, log = unpack(KEYS)
local endpoint_id, name = ARGV[1], ARGV[1] .. ':' .. ARGV[2]

if redis.call('HEXISTS', webhooks, endpoint_id .. ':url') == 0 or redis.call('HEXISTS', log, name) == 0 then
  return 'unknown'
elseif redis.call('HEXISTS', webhooks, endpoint_id .. ':disabled_because') == 1 then
  return 'disabled'
end
redis.call('HSET', log, name .. ':state', 'waiting')
return 'waiting'
