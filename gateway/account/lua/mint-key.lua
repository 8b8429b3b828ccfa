-- Gives an account one more active key, unless it has as many as it may. Expired keys do not count.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 keys     hash
-- ARGV
--   1 now_ms
--   2 key_id
--   3 environment
--   4 label
--   5 last4
--   6 expires_at_ms  '' for never
--   7 at_most        active keys
-- Returns { 'minted' } (also when this very key was minted before) | { 'full' } | { 'unknown' }
--   | { 'inactive', state of the account }

local account, keys = unpack(KEYS)
local now_ms, key_id, environment, label, last4, expires_at_ms, at_most =
  tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])

local state = redis.call('HGET', account, 'state')
if not state then
  return { 'unknown' }
elseif state ~= 'active' then
  return { 'inactive', state }
elseif redis.call('HEXISTS', keys, key_id .. ':state') == 1 then
  return { 'minted' }
end

local facts, fields = {}, redis.call('HGETALL', keys)
for i = 1, #fields, 2 do
  facts[fields[i]] = fields[i + 1]
end
local active = 0
for field, value in pairs(facts) do
  local id = string.match(field, '^(.*):state$')
  if id and value == 'active' then
    local expiry = tonumber(facts[id .. ':expires_at_ms'] or '')
    if not expiry or expiry > now_ms then
      active = active + 1
    end
  end
end
if active >= at_most then
  return { 'full' }
end

redis.call('HSET', keys, key_id .. ':state', 'active', key_id .. ':environment', environment, key_id .. ':label', label,
  key_id .. ':last4', last4, key_id .. ':created_at_ms', ARGV[1], key_id .. ':expires_at_ms', expires_at_ms)
return { 'minted' }
