-- Makes the person who signed up for an account its owner, if the account has no list of members.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 members  hash
-- ARGV
--   1 person_id
-- Returns 'kept' (the account has an owner now) | 'unknown' | 'erased'

local account, members = unpack(KEYS)
local person_id = ARGV[1]

local facts = redis.call('HMGET', account, 'state', 'erased_as', 'created_at_ms')
if not facts[1] then
  return 'unknown'
elseif facts[2] then
  return 'erased'
elseif redis.call('EXISTS', members) == 0 then
  redis.call('HSET', members, person_id .. ':role', 'owner', person_id .. ':added_at_ms', facts[3])
end
return 'kept'
