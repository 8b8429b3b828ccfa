-- Gives an account one more active key, unless it has as many as it may. Expired keys do not count. Of the keys that
-- are no longer active the newest are kept for show; older ones are forgotten, so that no hash grows without end.
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
--   8 kept           keys that are not active
-- Returns { 'minted', forgotten key ids... } (alone also when this very key was minted before) | { 'full' }
--   | { 'unknown' } | { 'inactive', state of the account }

local account, keys = unpack(KEYS)
local now_ms, key_id, environment, label, last4, expires_at_ms, at_most, kept =
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
if active >= at_most then
  return { 'full' }
end

redis.call('HSET', keys, key_id .. ':state', 'active', key_id .. ':environment', environment, key_id .. ':label', label,
  key_id .. ':last4', last4, key_id .. ':created_at_ms', ARGV[1], key_id .. ':expires_at_ms', expires_at_ms)

table.sort(ended, function(a, b)
  return a.at > b.at or (a.at == b.at and a.id < b.id)
end)
local answer = { 'minted' }
for i = kept + 1, #ended do
  local names = {}
  for _, field in ipairs(FIELDS) do
    names[#names + 1] = ended[i].id .. ':' .. field
  end
  redis.call('HDEL', keys, unpack(names))
  answer[#answer + 1] = ended[i].id
end
return answer
