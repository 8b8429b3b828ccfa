-- Changes the name of a person who is not erased.
--
-- KEYS
--   1 person  hash
-- ARGV
--   1 name
-- Returns 'renamed' | 'unknown'

local person = KEYS[1]

if redis.call('HEXISTS', person, 'email') == 0 then
  return 'unknown'
end
redis.call('HSET', person, 'name', ARGV[1])
return 'renamed'
