-- Makes a person a member by an invitation, which is used up. It counts only while its sender is the owner.
--
-- KEYS, all with the account's hash tag
--   1 account      hash
--   2 members      hash
--   3 invitations  hash
-- ARGV
--   1 now_ms
--   2 invitation_id
--   3 person_id
-- Returns 'done' (also if the invitation made this person a member before) | 'closed' | 'invalid'

local account, members, invitations = unpack(KEYS)
local now_ms, invitation_id, person_id = tonumber(ARGV[1]), ARGV[2], ARGV[3]

if redis.call('HGET', account, 'state') ~= 'active' then
  return 'closed'
end
local facts = redis.call('HMGET', invitations, invitation_id .. ':role', invitation_id .. ':by',
  invitation_id .. ':until_ms')
local role, by, until_ms = facts[1], facts[2], tonumber(facts[3])
if not role then
  return redis.call('HGET', members, person_id .. ':invitation') == invitation_id and 'done' or 'invalid'
elseif until_ms <= now_ms or redis.call('HGET', members, by .. ':role') ~= 'owner' then
  return 'invalid'
end
for _, field in ipairs({ 'email', 'role', 'by', 'created_at_ms', 'until_ms' }) do
  redis.call('HDEL', invitations, invitation_id .. ':' .. field)
end
if redis.call('HEXISTS', members, person_id .. ':role') == 0 then
  redis.call('HSET', members, person_id .. ':role', role, person_id .. ':added_at_ms', now_ms, person_id .. ':by', by,
    person_id .. ':invitation', invitation_id)
end
return 'done'
