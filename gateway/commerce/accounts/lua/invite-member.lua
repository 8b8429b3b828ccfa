-- Invites an address, in place of an earlier invitation of it.
--
-- KEYS, all with the account's hash tag
--   1 account      hash
--   2 members      hash
--   3 invitations  hash
-- ARGV
--   1 now_ms
--   2 invitation_id  repeating it is the same invitation
--   3 email          lower case
--   4 role
--   5 by             person who invites
--   6 until_ms
--   7 most           members and invitations
-- Returns 'done' | 'closed' | 'not_owner' | 'full'

local account, members, invitations = unpack(KEYS)
local now_ms, invitation_id, email, role, by, until_ms, most =
  ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])

if redis.call('HGET', account, 'state') ~= 'active' then
  return 'closed'
elseif redis.call('HGET', members, by .. ':role') ~= 'owner' then
  return 'not_owner'
end

local function forget(id)
  for _, field in ipairs({ 'email', 'role', 'by', 'created_at_ms', 'until_ms' }) do
    redis.call('HDEL', invitations, id .. ':' .. field)
  end
end

local count = 0
for _, field in ipairs(redis.call('HKEYS', members)) do
  if string.match(field, ':role$') then
    count = count + 1
  end
end
for _, field in ipairs(redis.call('HKEYS', invitations)) do
  local id = string.match(field, '^(.*):email$')
  if id then
    local is_over = tonumber(redis.call('HGET', invitations, id .. ':until_ms')) <= tonumber(now_ms)
    if is_over or redis.call('HGET', invitations, field) == email then
      forget(id)
    else
      count = count + 1
    end
  end
end
if count >= most then
  return 'full'
end
redis.call('HSET', invitations, invitation_id .. ':email', email, invitation_id .. ':role', role,
  invitation_id .. ':by', by, invitation_id .. ':created_at_ms', now_ms, invitation_id .. ':until_ms', until_ms)
return 'done'
