-- Sets the password of a person who is not erased, and ends all sessions. A change is told; a first password is not.
--
-- KEYS, both with the person's hash tag
--   1 person  hash
--   2 outbox  hash: <type>:<id> -> JSON of an event that is to be told
-- ARGV
--   1 password     hashed, with a salt of its own: repeating the same one is the same change
--   2 only_unset   '1': keeps a password that is there
--   3 check_epoch  '1': changes nothing if the epoch is another
--   4 epoch
--   5 now_ms
--   6 person_id
--   7 until_ms     when nobody can sign in with it any more; '' for never
-- Returns 'set' | 'kept' | 'unknown'

local person, outbox = unpack(KEYS)
local password, only_unset, check_epoch, epoch = ARGV[1], ARGV[2] == '1', ARGV[3] == '1', ARGV[4]

local stored = redis.call('HMGET', person, 'email', 'password', 'epoch')
if not stored[1] then
  return 'unknown'
elseif stored[2] == password then
  return 'set'
elseif (only_unset and stored[2]) or (check_epoch and (stored[3] or '') ~= epoch) then
  return 'kept'
end
redis.call('HSET', person, 'password', password)
if ARGV[7] == '' then
  redis.call('HDEL', person, 'password_until_ms')
else
  redis.call('HSET', person, 'password_until_ms', ARGV[7])
end
local raised = redis.call('HINCRBY', person, 'epoch', 1)
if not only_unset then
  redis.call('HSET', outbox, 'password.changed:' .. raised,
    cjson.encode({ type = 'password.changed', at_ms = tonumber(ARGV[5]), by = ARGV[6], data = {} }))
end
return 'set'
