-- Adds a feed link to an active key, up to a limit of live links. Only the newest ended links are kept, so that the hash is
-- bounded. Repeatable.
--
-- KEYS, all with the account's hash tag
--   1 account  hash: state
--   2 keys     hash: <key id>:state, expires_at_ms
--   3 feeds    hash: <feed id>:<field>; see redis-keys.ts
-- ARGV
--   1 now_ms
--   2 feed_id
--   3 key_id
--   4 max_live
--   5 max_ended
--   6.. fields and values of the new link, `digest` and `expires_at_ms` among them; empty values are left out
-- Returns { 'created', digests of links that are no longer listed... } | { 'full' } | { 'inactive' } (account or key)

local account, keys, feeds = unpack(KEYS)
local now_ms, feed_id, key_id = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local max_live, max_ended = tonumber(ARGV[4]), tonumber(ARGV[5])

if redis.call('HEXISTS', feeds, feed_id .. ':key') == 1 then
  return { 'created' }
end
local key = redis.call('HMGET', keys, key_id .. ':state', key_id .. ':expires_at_ms')
local key_ends_ms = tonumber(key[2] or '')
if redis.call('HGET', account, 'state') ~= 'active' or key[1] ~= 'active' or key_ends_ms and key_ends_ms <= now_ms then
  return { 'inactive' }
end

-- Field -> value, by feed id.
local all, fields = {}, redis.call('HGETALL', feeds)
for i = 1, #fields, 2 do
  local id, name = string.match(fields[i], '^([^:]*):(.*)$')
  all[id] = all[id] or {}
  all[id][name] = fields[i + 1]
end

local live, ended = 0, {}
for id, feed in pairs(all) do
  local expires_at_ms, revoked_at_ms = tonumber(feed.expires_at_ms or ''), tonumber(feed.revoked_at_ms or '')
  if revoked_at_ms or expires_at_ms and expires_at_ms <= now_ms then
    ended[#ended + 1] = { id = id, at = revoked_at_ms or expires_at_ms }
  else
    live = live + 1
  end
end
if live >= max_live then
  return { 'full' }
end

redis.call('HSET', feeds, feed_id .. ':key', key_id, feed_id .. ':created_at_ms', ARGV[1])
for i = 6, #ARGV, 2 do
  if ARGV[i + 1] ~= '' then
    redis.call('HSET', feeds, feed_id .. ':' .. ARGV[i], ARGV[i + 1])
  end
end

table.sort(ended, function(a, b)
  return a.at > b.at or (a.at == b.at and a.id < b.id)
end)
local result = { 'created' }
for i = max_ended + 1, #ended do
  local id, names = ended[i].id, {}
  for name in pairs(all[id]) do
    names[#names + 1] = id .. ':' .. name
  end
  redis.call('HDEL', feeds, unpack(names))
  result[#result + 1] = all[id].digest
end
return result
