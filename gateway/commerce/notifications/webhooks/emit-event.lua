-- Stores an event until it is handed to the endpoints of an account. Idempotent; nothing is stored without an endpoint.
--
-- KEYS
--   1 webhooks  hash, with the account's hash tag
-- ARGV
--   1 field  event:<id>
--   2 event  JSON: type, at_ms, data
-- Returns 'stored' | 'nobody'

local webhooks = KEYS[1]

if redis.call('EXISTS', webhooks) == 0 then
  return 'nobody'
end
redis.call('HSETNX', webhooks, ARGV[1], ARGV[2])
return 'stored'
