-- Removes a member who is not the owner, and ends the connections that the member allowed.
--
-- KEYS, all with the account's hash tag
--   1 members      hash
--   2 connections  hash
-- ARGV
--   1 person_id
--   2 by      person who removes: the owner, or the member
--   3 now_ms
-- Returns 'done' (also if the person is no member) | 'not_owner' | 'is_owner'

local members, connections = unpack(KEYS)
local person_id, by, now_ms = unpack(ARGV)

if by ~= person_id and redis.call('HGET', members, by .. ':role') ~= 'owner' then
  return 'not_owner'
elseif redis.call('HGET', members, person_id .. ':role') == 'owner' then
  return 'is_owner'
end
for _, field in ipairs({ 'role', 'added_at_ms', 'by', 'invitation' }) do
  redis.call('HDEL', members, person_id .. ':' .. field)
end
local fields = redis.call('HGETALL', connections)
for i = 1, #fields, 2 do
  local id = string.match(fields[i], '^(.*):by$')
  if id and fields[i + 1] == person_id and redis.call('HGET', connections, id .. ':state') ~= 'ended' then
    redis.call('HSET', connections, id .. ':state', 'ended', id .. ':ended_at_ms', now_ms, id .. ':ended_because', 'left')
  end
end
return 'done'
