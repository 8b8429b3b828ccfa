-- Gives an endpoint a new secret; the former one signs too until its end.
--
-- KEYS
--   1 webhooks  hash, with the account's hash tag
-- ARGV
--   1 endpoint_id
--   2 secret
--   3 old_until_ms
-- Returns 'rotated' (also when it has that secret already) | 'unknown'

local webhooks, endpoint_id, secret = KEYS[1], ARGV[1], ARGV[2]

local old = redis.call('HGET', webhooks, endpoint_id .. ':secret')
if not old then
  return 'unknown'
elseif old ~= secret then
  redis.call('HSET', webhooks, endpoint_id .. ':secret', secret, endpoint_id .. ':old_secret', old,
    endpoint_id .. ':old_secret_until_ms', ARGV[3])
end
return 'rotated'
