-- Sets the password of an account that is not erased, and ends all its sessions.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 login    hash: password, epoch
-- ARGV
--   1 password          hashed, with a salt of its own: repeating the same one is the same change
--   2 only_unconfirmed  '1': keeps the password of an account that somebody can sign in to
--   3 check_epoch       '1': changes nothing if the epoch is another
--   4 epoch             '' if there is none
-- Returns 'set' | 'kept' | 'closed' (erased) | 'unknown'

local account, login = unpack(KEYS)
local password, only_unconfirmed, check_epoch, epoch = ARGV[1], ARGV[2] == '1', ARGV[3] == '1', ARGV[4]

local facts = redis.call('HMGET', account, 'state', 'erased_as', 'verified')
local state, erased_as, is_verified = facts[1], facts[2], facts[3] == '1'
if not state then
  return 'unknown'
elseif erased_as then
  return 'closed'
end
local stored = redis.call('HMGET', login, 'password', 'epoch')
if stored[1] == password then
  return 'set'
elseif only_unconfirmed and stored[1] and (is_verified or state == 'closed') then
  return 'kept'
elseif check_epoch and (stored[2] or '') ~= epoch then
  return 'kept'
end
redis.call('HSET', login, 'password', password)
redis.call('HINCRBY', login, 'epoch', 1)
return 'set'
