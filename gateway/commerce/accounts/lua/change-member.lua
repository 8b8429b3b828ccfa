-- Changes the role of a member who is not the owner, or removes the member. Connections that the member allowed end with the
-- permission for them.
--
-- KEYS, all with the account's hash tag
--   1 members      hash
--   2 connections  hash
-- ARGV
--   1 person_id
--   2 role     '' removes the member
--   3 by       person who changes it: the owner, or a member who leaves
--   4 now_ms
--   5 allows   '1': the role may allow connections
-- Returns 'done' (also if somebody who is removed is no member) | 'not_owner' | 'not_member' | 'is_owner'

local members, connections = unpack(KEYS)
local person_id, role, by, now_ms, allows = unpack(ARGV)

local is_removal = role == ''
local current = redis.call('HGET', members, person_id .. ':role')
if not (is_removal and by == person_id) and redis.call('HGET', members, by .. ':role') ~= 'owner' then
  return 'not_owner'
elseif current == 'owner' then
  return 'is_owner'
elseif not (current or is_removal) then
  return 'not_member'
elseif is_removal then
  for _, field in ipairs({ 'role', 'added_at_ms', 'by', 'invitation' }) do
    redis.call('HDEL', members, person_id .. ':' .. field)
  end
else
  redis.call('HSET', members, person_id .. ':role', role)
end
local fields = allows == '1' and {} or redis.call('HGETALL', connections)
for i = 1, #fields, 2 do
  local id = string.match(fields[i], '^(.*):by$')
  if id and fields[i + 1] == person_id and redis.call('HGET', connections, id .. ':state') ~= 'ended' then
    redis.call('HSET', connections, id .. ':state', 'ended', id .. ':ended_at_ms', now_ms, id .. ':ended_because', 'left')
  end
end
return 'done'
