-- Invites an address, in place of an earlier invitation of it.
--
-- KEYS, all with the account's hash tag
--   1 account      hash
--   2 members      hash
--   3 invitations  hash
-- ARGV
--   1 now_ms
--   2 invitation_id  repeating it is the same invitation
--   3 invitation     JSON: email, in lower case; by, who invites; role, created_at_ms, until_ms
--   4 most           members and invitations
-- Returns 'done' | 'closed' | 'not_owner' | 'full'

local account, members, invitations = unpack(KEYS)
local now_ms, invitation_id, invitation, most =
  tonumber(ARGV[1]), ARGV[2], cjson.decode(ARGV[3]), tonumber(ARGV[4])

if redis.call('HGET', account, 'state') ~= 'active' then
  return 'closed'
elseif redis.call('HGET', members, invitation.by .. ':role') ~= 'owner' then
  return 'not_owner'
end

local count = 0
for _, field in ipairs(redis.call('HKEYS', members)) do
  if string.match(field, ':role$') then
    count = count + 1
  end
end
local stored = redis.call('HGETALL', invitations)
for i = 1, #stored, 2 do
  local other = cjson.decode(stored[i + 1])
  if other.until_ms <= now_ms or other.email == invitation.email then
    redis.call('HDEL', invitations, stored[i])
  else
    count = count + 1
  end
end
if count >= most then
  return 'full'
end
redis.call('HSET', invitations, invitation_id, ARGV[3])
return 'done'
