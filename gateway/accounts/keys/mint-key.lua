-- Adds an active key to an account, up to a limit. Expired keys do not count. Of the inactive keys only the newest are
-- kept, so that the hash is bounded.
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
--   7 max_active
--   8 max_inactive
-- Returns { 'minted', removed key ids... } (without ids if this key was minted before) | { 'full' }
--   | { 'unknown' } | { 'inactive', state of the account }

local account, keys = unpack(KEYS)
local now_ms, key_id, environment, label, last4, expires_at_ms, max_active, max_inactive =
  tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])

local FIELDS = { 'state', 'environment', 'label', 'last4', 'created_at_ms', 'expires_at_ms', 'last_used_ms',
  'revoked_at_ms' }

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
local active, ended = 0, {}
for field, value in pairs(facts) do
  local id = string.match(field, '^(.*):state$')
  if id then
    local expiry = tonumber(facts[id .. ':expires_at_ms'] or '')
    if value == 'active' and (not expiry or expiry > now_ms) then
      active = active + 1
    else
      ended[#ended + 1] = { id = id, at = tonumber(facts[id .. ':revoked_at_ms'] or '') or expiry or 0 }
    end
  end
end
if active >= max_active then
  return { 'full' }
end

redis.call('HSET', keys, key_id .. ':state', 'active', key_id .. ':environment', environment, key_id .. ':label', label,
  key_id .. ':last4', last4, key_id .. ':created_at_ms', ARGV[1], key_id .. ':expires_at_ms', expires_at_ms)

table.sort(ended, function(a, b)
  return a.at > b.at or (a.at == b.at and a.id < b.id)
end)
local result = { 'minted' }
for i = max_inactive + 1, #ended do
  local names = {}
  for _, field in ipairs(FIELDS) do
    names[#names + 1] = ended[i].id .. ':' .. field
  end
  redis.call('HDEL', keys, unpack(names))
  result[#result + 1] = ended[i].id
end
return result
