-- Changes the state of an account: active <-> suspended, either -> closed. Closing revokes all keys, ends all
-- connections, and removes all webhooks.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 keys     hash
--   3 webhooks, 4 deliveries, 5 log of deliveries
--   6 outbox   hash: <type>:<id> -> JSON of an event that is to be told
--   7 connections  hash
-- ARGV
--   1 now_ms
--   2 to       active | suspended | closed
--   3 by       who changes it; '' tells nobody by mail
-- Returns { 'changed' | 'unchanged', state } | { 'refused', state } | { 'unknown' }

local account, keys, webhooks, deliveries, log, outbox, connections = unpack(KEYS)
local now_ms, to, by = unpack(ARGV)

local state = redis.call('HGET', account, 'state')
if not state then
  return { 'unknown' }
elseif state == to then
  return { 'unchanged', state }
elseif state == 'closed' then
  return { 'refused', state }
end

redis.call('HSET', account, 'state', to)
local data = {}
if to == 'closed' then
  redis.call('DEL', webhooks, deliveries, log)
  -- What closing forfeits.
  data = { credits = redis.call('HGET', account, 'balance'), keys = 0 }
  local fields = redis.call('HGETALL', keys)
  for i = 1, #fields, 2 do
    local key_id = string.match(fields[i], '^(.*):state$')
    if key_id and fields[i + 1] == 'active' then
      redis.call('HSET', keys, fields[i], 'revoked', key_id .. ':revoked_at_ms', now_ms)
      local expires_at_ms = tonumber(redis.call('HGET', keys, key_id .. ':expires_at_ms') or '')
      if not expires_at_ms or expires_at_ms > tonumber(now_ms) then
        data.keys = data.keys + 1
      end
    end
  end
  local linked = redis.call('HGETALL', connections)
  for i = 1, #linked, 2 do
    local id = string.match(linked[i], '^(.*):state$')
    if id and linked[i + 1] ~= 'ended' then
      redis.call('HSET', connections, linked[i], 'ended', id .. ':ended_at_ms', now_ms, id .. ':ended_because', 'account_closed')
    end
  end
end
local type = 'account.' .. (to == 'active' and 'restored' or to)
redis.call('HSET', outbox, type .. ':' .. now_ms,
  cjson.encode({ type = type, at_ms = tonumber(now_ms), by = by, data = data }))
return { 'changed', to }
