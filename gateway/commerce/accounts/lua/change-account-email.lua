-- Changes the address to which mails about an account go, if it is the one of its owner so far.
--
-- KEYS
--   1 account  hash
-- ARGV
--   1 from
--   2 to
-- Returns 'changed' | 'kept'

local account = KEYS[1]

if redis.call('HGET', account, 'email') ~= ARGV[1] then
  return 'kept'
end
redis.call('HSET', account, 'email', ARGV[2])
return 'changed'
