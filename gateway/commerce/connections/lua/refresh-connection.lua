-- Exchanges the refresh token of a connection for the next one. The token before it may come again within seconds, because
-- the answer to it may have been lost, and gets the same answer. Any other token of the family was used before: then somebody else
-- has a copy, and the connection ends.
--
-- KEYS, all with the account's hash tag
--   1 account      hash: state
--   2 connections  hash
--   3 outbox       hash: <type>:<id> -> JSON of an event that is to be told
-- ARGV
--   1 now_ms
--   2 connection_id
--   3 client_id
--   4 family     digest of what all tokens of the connection have in common
--   5 presented  digest of the token that was sent
--   6 next       digest of the one that is given
--   7 answer     what is given, encrypted with the token that was sent
--   8 repeat_ms  how long that answer is given again
-- Returns { 'refreshed' } | { 'repeated', answer } | { 'invalid' } | { 'reused' }

local account, connections, outbox = unpack(KEYS)
local now_ms, id, client_id, family, presented, next, answer, repeat_ms = unpack(ARGV)

local names = { 'state', 'client_id', 'family', 'refresh', 'before', 'refreshed_at_ms', 'answer', 'expires_at_ms', 'client_name' }
local fields, one = {}, {}
for i, name in ipairs(names) do
  fields[i] = id .. ':' .. name
end
for i, value in ipairs(redis.call('HMGET', connections, unpack(fields))) do
  one[names[i]] = value
end

if one.state ~= 'active' or one.family ~= family or one.client_id ~= client_id
  or tonumber(one.expires_at_ms) <= tonumber(now_ms) or redis.call('HGET', account, 'state') ~= 'active' then
  return { 'invalid' }
elseif presented == one.refresh then
  redis.call('HSET', connections, id .. ':before', presented, id .. ':refresh', next, id .. ':refreshed_at_ms', now_ms,
    id .. ':answer', answer)
  return { 'refreshed' }
elseif presented == one.before and now_ms - one.refreshed_at_ms <= tonumber(repeat_ms) then
  return { 'repeated', one.answer }
end
redis.call('HSET', connections, id .. ':state', 'ended', id .. ':ended_at_ms', now_ms, id .. ':ended_because', 'refresh_reused')
redis.call('HSET', outbox, 'connection.ended:' .. id, cjson.encode({ type = 'connection.ended', at_ms = tonumber(now_ms), by = '',
  data = { connection_id = id, client = one.client_name } }))
return { 'reused' }
