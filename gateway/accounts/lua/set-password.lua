-- Sets the password of an account that is not erased, and ends all its sessions.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 login    hash: password, epoch
-- ARGV
--   1 password    hashed
--   2 only_first  '1': keeps an existing password
-- Returns 'set' | 'kept' | 'closed' (erased) | 'unknown'

local account, login = unpack(KEYS)
local password, only_first = ARGV[1], ARGV[2] == '1'

local facts = redis.call('HMGET', account, 'state', 'erased_as')
if not facts[1] then
  return 'unknown'
elseif facts[2] then
  return 'closed'
elseif only_first and redis.call('HEXISTS', login, 'password') == 1 then
  return 'kept'
end
redis.call('HSET', login, 'password', password)
redis.call('HINCRBY', login, 'epoch', 1)
return 'set'
