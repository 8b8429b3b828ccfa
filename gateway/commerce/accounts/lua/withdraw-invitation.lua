-- Withdraws an invitation. Withdrawing one that is gone is done already.
--
-- KEYS, all with the account's hash tag
--   1 members      hash
--   2 invitations  hash
-- ARGV
--   1 invitation_id
--   2 by  person who withdraws it
-- Returns 'done' | 'not_owner'

local members, invitations = unpack(KEYS)
local invitation_id, by = ARGV[1], ARGV[2]

if redis.call('HGET', members, by .. ':role') ~= 'owner' then
  return 'not_owner'
end
redis.call('HDEL', invitations, invitation_id)
return 'done'
