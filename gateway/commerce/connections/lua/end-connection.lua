-- Ends a connection.
--
-- KEYS, all with the account's hash tag
--   1 connections  hash
--   2 outbox       hash: <type>:<id> -> JSON of an event that is to be told
-- ARGV
--   1 now_ms
--   2 connection_id
--   3 by       who ends it; '' tells nobody by mail
--   4 because  word for the reason: person, operator, client
--   5 reason   that the mail states; '' for none
-- Returns 'changed' | 'unchanged' (ended before) | 'unknown'

local connections, outbox = unpack(KEYS)
local now_ms, id, by, because, reason = unpack(ARGV)

local state = redis.call('HGET', connections, id .. ':state')
if not state then
  return 'unknown'
elseif state == 'ended' then
  return 'unchanged'
end
redis.call('HSET', connections, id .. ':state', 'ended', id .. ':ended_at_ms', now_ms, id .. ':ended_because', because)
local data = { connection_id = id, client = redis.call('HGET', connections, id .. ':client_name') or '' }
redis.call('HSET', outbox, 'connection.ended:' .. id,
  cjson.encode({ type = 'connection.ended', at_ms = tonumber(now_ms), by = by, reason = reason, data = data }))
return 'changed'
