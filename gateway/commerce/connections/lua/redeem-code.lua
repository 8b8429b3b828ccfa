-- Redeems the code of a connection, which works from then on. A code that comes again ends what it gave: one of the two who sent
-- it is not whom the person allowed.
--
-- KEYS, all with the account's hash tag
--   1 account      hash: state
--   2 connections  hash
--   3 outbox       hash: <type>:<id> -> JSON of an event that is to be told
-- ARGV
--   1 now_ms
--   2 connection_id
--   3 code          digest
--   4 client_id
--   5 redirect_uri  or '' where none was sent
--   6 challenge     made of the verifier that was sent
--   7 family, 8 refresh  digests of the refresh token that is given; made for this call
-- Returns 'redeemed' (also if this call did it before) | 'invalid' | 'replayed'

local account, connections, outbox = unpack(KEYS)
local now_ms, id, code, client_id, redirect_uri, challenge, family, refresh = unpack(ARGV)

local names = { 'state', 'code', 'code_until_ms', 'client_id', 'redirect_uri', 'challenge', 'family', 'client_name', 'by' }
local fields, one = {}, {}
for i, name in ipairs(names) do
  fields[i] = id .. ':' .. name
end
for i, value in ipairs(redis.call('HMGET', connections, unpack(fields))) do
  one[names[i]] = value
end

local function tell(type, by)
  redis.call('HSET', outbox, type .. ':' .. id, cjson.encode({ type = type, at_ms = tonumber(now_ms), by = by,
    data = { connection_id = id, client = one.client_name } }))
end

if not one.state or one.code ~= code or one.state == 'ended' then
  return 'invalid'
elseif one.state == 'active' then
  if one.family == family then
    return 'redeemed'
  end
  redis.call('HSET', connections, id .. ':state', 'ended', id .. ':ended_at_ms', now_ms, id .. ':ended_because', 'code_replayed')
  tell('connection.ended', '')
  return 'replayed'
elseif redis.call('HGET', account, 'state') ~= 'active' or tonumber(one.code_until_ms) <= tonumber(now_ms)
  or one.client_id ~= client_id or one.challenge ~= challenge
  or redirect_uri ~= '' and one.redirect_uri ~= redirect_uri then
  return 'invalid'
end
redis.call('HSET', connections, id .. ':state', 'active', id .. ':family', family, id .. ':refresh', refresh)
redis.call('HDEL', connections, id .. ':code_until_ms', id .. ':challenge', id .. ':redirect_uri')
tell('connection.made', one.by)
return 'redeemed'
