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
local stored = redis.call('HGET', invitations, invitation_id)
if not stored then
  return redis.call('HGET', members, person_id .. ':invitation') == invitation_id and 'done' or 'invalid'
end
local invitation = cjson.decode(stored)
if invitation.until_ms <= now_ms or redis.call('HGET', members, invitation.by .. ':role') ~= 'owner' then
  return 'invalid'
end
redis.call('HDEL', invitations, invitation_id)
if redis.call('HEXISTS', members, person_id .. ':role') == 0 then
  redis.call('HSET', members, person_id .. ':role', invitation.role, person_id .. ':added_at_ms', now_ms,
    person_id .. ':by', invitation.by, person_id .. ':invitation', invitation_id)
end
return 'done'
