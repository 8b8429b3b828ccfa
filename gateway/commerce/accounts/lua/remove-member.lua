-- Removes a member who is not the owner.
--
-- KEYS
--   1 members  hash
-- ARGV
--   1 person_id
--   2 by  person who removes: the owner, or the member
-- Returns 'done' (also if the person is no member) | 'not_owner' | 'is_owner'

local members = KEYS[1]
local person_id, by = ARGV[1], ARGV[2]

if by ~= person_id and redis.call('HGET', members, by .. ':role') ~= 'owner' then
  return 'not_owner'
elseif redis.call('HGET', members, person_id .. ':role') == 'owner' then
  return 'is_owner'
end
for _, field in ipairs({ 'role', 'added_at_ms', 'by', 'invitation' }) do
  redis.call('HDEL', members, person_id .. ':' .. field)
end
return 'done'
