-- Adds a connection that waits for its code to be redeemed, up to a limit. Only the newest ended connections are kept, so that
-- the hash is bounded.
--
-- KEYS, all with the account's hash tag
--   1 account      hash: state
--   2 connections  hash
--   3 members      hash
-- ARGV
--   1 now_ms
--   2 connection_id
--   3 by          person who allows it
--   4 roles       that may, separated by spaces
--   5 most        connections that may work at a time
--   6 most_ended  that are kept
--   7.. field, value in turn
-- Returns 'created' (also if it was before) | 'full' | 'not_allowed' | 'unknown' | 'inactive'

local account, connections, members = unpack(KEYS)
local now_ms, connection_id, by, roles = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local most, most_ended = tonumber(ARGV[5]), tonumber(ARGV[6])

local state = redis.call('HGET', account, 'state')
local role = redis.call('HGET', members, by .. ':role')
if not state then
  return 'unknown'
elseif state ~= 'active' then
  return 'inactive'
elseif not role or not string.find(' ' .. roles .. ' ', ' ' .. role .. ' ', 1, true) then
  return 'not_allowed'
elseif redis.call('HEXISTS', connections, connection_id .. ':state') == 1 then
  return 'created'
end

-- Field -> value, by connection id.
local all, fields = {}, redis.call('HGETALL', connections)
for i = 1, #fields, 2 do
  local id, name = string.match(fields[i], '^([^:]*):(.*)$')
  all[id] = all[id] or {}
  all[id][name] = fields[i + 1]
end

local function remove(id)
  local names = {}
  for name in pairs(all[id]) do
    names[#names + 1] = id .. ':' .. name
  end
  redis.call('HDEL', connections, unpack(names))
end

local working, ended = 0, {}
for id, one in pairs(all) do
  local ended_at_ms = tonumber(one.ended_at_ms or '') or tonumber(one.expires_at_ms)
  if one.state == 'pending' and tonumber(one.code_until_ms) <= now_ms then
    remove(id)
  elseif ended_at_ms <= now_ms then
    ended[#ended + 1] = { id = id, at = ended_at_ms }
  else
    working = working + 1
  end
end
if working >= most then
  return 'full'
end
table.sort(ended, function(a, b)
  return a.at > b.at or (a.at == b.at and a.id < b.id)
end)
for i = most_ended + 1, #ended do
  remove(ended[i].id)
end

redis.call('HSET', connections, connection_id .. ':state', 'pending', connection_id .. ':by', by,
  connection_id .. ':created_at_ms', ARGV[1], connection_id .. ':bound', '1')
for i = 7, #ARGV, 2 do
  redis.call('HSET', connections, connection_id .. ':' .. ARGV[i], ARGV[i + 1])
end
return 'created'
