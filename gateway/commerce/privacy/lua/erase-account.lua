-- Removes personal data from a closed account: address, name, members, connections, alerts, used indicators, billing
-- details, and of keys their label, maker, address ranges and origins. Invoices that were issued stay. Idempotent.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 keys     hash
--   3 alert    hash
--   4 members  hash
--   5 invitations  hash
--   6 spending, 7 change_alerts  hashes
--   8 used     zset
--   9 billing  hash
--   10 outbox  hash
--   11 connections  hash
-- ARGV
--   1 now_ms
--   2 opaque  id that replaces the person
-- Returns { 'erased' | 'unchanged', opaque id } | { 'unknown' } | { 'open' } (the account is not closed)

local account, keys, alert, members, invitations, spending, change_alerts, used, billing, outbox,
  connections = unpack(KEYS)
local now_ms, opaque = ARGV[1], ARGV[2]

local facts = redis.call('HMGET', account, 'state', 'erased_as')
if not facts[1] then
  return { 'unknown' }
elseif facts[1] ~= 'closed' then
  return { 'open' }
elseif facts[2] then
  return { 'unchanged', facts[2] }
end
redis.call('HSET', account, 'email', opaque, 'name', '', 'erased_as', opaque, 'erased_at_ms', now_ms)
redis.call('DEL', alert, members, invitations, spending, change_alerts, used, billing, outbox, connections)
local personal = { label = true, by = true, ranges = true, origins = true }
for _, field in ipairs(redis.call('HKEYS', keys)) do
  if personal[string.match(field, ':(.*)$')] then
    redis.call('HSET', keys, field, '')
  end
end
return { 'erased', opaque }
