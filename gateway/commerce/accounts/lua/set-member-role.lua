-- Changes the role of a member who is not the owner.
--
-- KEYS
--   1 members  hash
-- ARGV
--   1 person_id
--   2 role
--   3 by  person who changes it
-- Returns 'done' | 'not_owner' | 'not_member' | 'is_owner'

local members = KEYS[1]
local person_id, role, by = ARGV[1], ARGV[2], ARGV[3]

if redis.call('HGET', members, by .. ':role') ~= 'owner' then
  return 'not_owner'
end
local current = redis.call('HGET', members, person_id .. ':role')
if not current then
  return 'not_member'
elseif current == 'owner' then
  return 'is_owner'
end
redis.call('HSET', members, person_id .. ':role', role)
return 'done'
