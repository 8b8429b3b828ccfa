-- Offers the ownership of an account to a member, in place of an earlier offer.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 members  hash
-- ARGV
--   1 to  person
--   2 by  person who offers it
--   3 until_ms
-- Returns 'done' | 'closed' | 'not_owner' | 'not_member' | 'is_owner'

local account, members = unpack(KEYS)
local to, by, until_ms = ARGV[1], ARGV[2], ARGV[3]

if redis.call('HGET', account, 'state') ~= 'active' then
  return 'closed'
elseif redis.call('HGET', members, by .. ':role') ~= 'owner' then
  return 'not_owner'
elseif to == by then
  return 'is_owner'
elseif redis.call('HEXISTS', members, to .. ':role') == 0 then
  return 'not_member'
end
redis.call('HSET', members, 'offer:to', to, 'offer:by', by, 'offer:until_ms', until_ms)
return 'done'
