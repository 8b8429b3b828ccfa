-- Adds an endpoint to an active account, up to a limit.
--
-- KEYS, all with the account's hash tag
--   1 account   hash
--   2 webhooks  hash
-- ARGV
--   1 endpoint_id
--   2 most           endpoints of an account
--   3 url
--   4 types          separated by spaces
--   5 secret
--   6 created_at_ms
--   7 by             who makes it
-- Returns { 'created' } (also when it was created before) | { 'full' } | { 'unknown' } | { 'inactive', state of the account }

local account, webhooks = unpack(KEYS)
local endpoint_id = ARGV[1]

local state = redis.call('HGET', account, 'state')
if not state then
  return { 'unknown' }
elseif state ~= 'active' then
  return { 'inactive', state }
elseif redis.call('HEXISTS', webhooks, endpoint_id .. ':url') == 1 then
  return { 'created' }
end
local endpoints = 0
for _, field in ipairs(redis.call('HKEYS', webhooks)) do
  if string.match(field, '^[^:]+:url$') then
    endpoints = endpoints + 1
  end
end
if endpoints >= tonumber(ARGV[2]) then
  return { 'full' }
end
redis.call('HSET', webhooks, endpoint_id .. ':url', ARGV[3], endpoint_id .. ':types', ARGV[4],
  endpoint_id .. ':secret', ARGV[5], endpoint_id .. ':created_at_ms', ARGV[6], endpoint_id .. ':by', ARGV[7])
return { 'created' }
