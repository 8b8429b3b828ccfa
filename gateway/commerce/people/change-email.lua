-- Changes the address of a person, and ends all sessions and mailed links.
--
-- KEYS
--   1 person  hash
-- ARGV
--   1 from  the address that the person has
--   2 to    repeating it is the same change
-- Returns 'changed' | 'kept' (the person has another address, or is erased)

local person = KEYS[1]
local from, to = ARGV[1], ARGV[2]

local email = redis.call('HGET', person, 'email')
if email == to then
  return 'changed'
elseif email ~= from then
  return 'kept'
end
redis.call('HSET', person, 'email', to)
redis.call('HINCRBY', person, 'epoch', 1)
return 'changed'
