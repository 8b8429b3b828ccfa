-- Adds an active key to an account, up to a limit. Expired keys do not count. Only the newest inactive keys are kept,
-- so that the hash is bounded.
--
-- A key that replaces another takes over its label, rules, expiry and month. The other one ends at the given time, at once
-- where that is not ahead; until then both count for the limit of the new key, and so does every key that the other replaced.
-- Its feed links become those of the new key at once.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 keys     hash
--   3 outbox   hash: <type>:<id> -> JSON of an event that is to be told
--   4 feeds    hash: <feed id>:key
-- ARGV
--   1 now_ms
--   2 key_id
--   3 environment
--   4 last4
--   5 by             who makes the key; '' tells nobody by mail
--   6 max_active
--   7 max_inactive
--   8 replaces       key id, or ''
--   9 ends_at_ms     when that one ends; '' where none is replaced
--  10 expires_at_ms  '' for never
--  11 label          this and what follows is ignored where a key is replaced
--  12 limit          credits a month, or ''
--  13 ranges
--  14 origins
-- Returns { 'minted', removed key ids... } (without ids if this key was minted before) | { 'full' }
--   | { 'unknown' } | { 'inactive', state of the account }
--   | { 'not_replaceable', unknown | revoked | expired | replaced | changed }, the last when it expires at another time

local account, keys, outbox, feeds = unpack(KEYS)
local now_ms, key_id, max_active, max_inactive = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[6]), tonumber(ARGV[7])
local replaces, ends_at_ms, expires_at_ms = ARGV[8], tonumber(ARGV[9]), ARGV[10]

local state = redis.call('HGET', account, 'state')
if not state then
  return { 'unknown' }
elseif state ~= 'active' then
  return { 'inactive', state }
elseif redis.call('HEXISTS', keys, key_id .. ':state') == 1 then
  return { 'minted' }
end

-- Field -> value, by key id.
local all, fields = {}, redis.call('HGETALL', keys)
for i = 1, #fields, 2 do
  local id, name = string.match(fields[i], '^([^:]*):(.*)$')
  all[id] = all[id] or {}
  all[id][name] = fields[i + 1]
end

local function is_expired(key)
  local at_ms = tonumber(key.expires_at_ms or '')
  return at_ms and at_ms <= now_ms
end

local old = all[replaces]
if replaces ~= '' then
  local why = not old and 'unknown' or old.state ~= 'active' and 'revoked' or is_expired(old) and 'expired'
    or (old.replaced_by or '') ~= '' and 'replaced' or (old.expires_at_ms or '') ~= expires_at_ms and 'changed'
  if why then
    return { 'not_replaceable', why }
  end
  if ends_at_ms <= now_ms then
    old.state, old.revoked_at_ms = 'revoked', ARGV[1]
  elseif expires_at_ms == '' or ends_at_ms < tonumber(expires_at_ms) then
    old.expires_at_ms = ARGV[9]
  end
end

local active, ended = 0, {}
for id, key in pairs(all) do
  if key.state == 'active' and not is_expired(key) then
    active = active + 1
  else
    ended[#ended + 1] = { id = id, at = tonumber(key.revoked_at_ms or '') or tonumber(key.expires_at_ms or '') or 0 }
  end
end
if active >= max_active then
  return { 'full' }
end

local is_bound = old or expires_at_ms ~= '' or ARGV[12] ~= '' or ARGV[13] ~= '' or ARGV[14] ~= ''
local new = { state = 'active', bound = is_bound and '1' or '', environment = ARGV[3], last4 = ARGV[4], by = ARGV[5], created_at_ms = ARGV[1],
  expires_at_ms = expires_at_ms, label = ARGV[11], limit = ARGV[12], ranges = ARGV[13], origins = ARGV[14] }
if old then
  for _, name in ipairs({ 'label', 'limit', 'ranges', 'origins', 'month' }) do
    new[name] = old[name] or nil
  end
  new.replaces, old.replaced_by, old.counted_with = replaces, key_id, key_id
  redis.call('HSET', keys, replaces .. ':state', old.state, replaces .. ':expires_at_ms', old.expires_at_ms or '',
    replaces .. ':replaced_by', key_id, replaces .. ':counted_with', key_id, replaces .. ':bound', '1')
  if old.revoked_at_ms then
    redis.call('HSET', keys, replaces .. ':revoked_at_ms', old.revoked_at_ms)
  end
  for id, key in pairs(all) do
    if key.counted_with == replaces then
      redis.call('HSET', keys, id .. ':counted_with', key_id)
    end
  end
  for _, field in ipairs(redis.call('HKEYS', feeds)) do
    if string.match(field, ':key$') and redis.call('HGET', feeds, field) == replaces then
      redis.call('HSET', feeds, field, key_id)
    end
  end
end
for name, value in pairs(new) do
  if value ~= '' then
    redis.call('HSET', keys, key_id .. ':' .. name, value)
  end
end

local type = old and 'key.rotated' or 'key.created'
local data = { key_id = key_id, label = new.label or '', replaces = new.replaces }
redis.call('HSET', outbox, type .. ':' .. key_id,
  cjson.encode({ type = type, at_ms = now_ms, by = new.by, data = data }))

table.sort(ended, function(a, b)
  return a.at > b.at or (a.at == b.at and a.id < b.id)
end)
local result = { 'minted' }
for i = max_inactive + 1, #ended do
  local names = {}
  for name in pairs(all[ended[i].id]) do
    names[#names + 1] = ended[i].id .. ':' .. name
  end
  redis.call('HDEL', keys, unpack(names))
  result[#result + 1] = ended[i].id
end
return result
