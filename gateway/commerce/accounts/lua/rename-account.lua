-- Changes the name of an account that is not closed.
--
-- KEYS
--   1 account  hash
-- ARGV
--   1 name
-- Returns 'renamed' | 'closed' | 'unknown'

local account = KEYS[1]

local state = redis.call('HGET', account, 'state')
if not state then
  return 'unknown'
elseif state == 'closed' then
  return 'closed'
end
redis.call('HSET', account, 'name', ARGV[1])
return 'renamed'
