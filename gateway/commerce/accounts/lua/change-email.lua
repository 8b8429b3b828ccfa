-- Changes the address of a person, ends all sessions and mailed links, and writes the event that is told to both addresses.
--
-- KEYS, both with the person's hash tag
--   1 person  hash
--   2 outbox  hash: <type>:<id> -> JSON of an event that is to be told
-- ARGV
--   1 from  the address that the person has
--   2 to    repeating it is the same change
--   3 event JSON
-- Returns 'changed' | 'kept' (the person has another address, or is erased)

local person, outbox = KEYS[1], KEYS[2]
local from, to, event = ARGV[1], ARGV[2], ARGV[3]

local email = redis.call('HGET', person, 'email')
if email == to then
  return 'changed'
elseif email ~= from then
  return 'kept'
end
redis.call('HSET', person, 'email', to)
-- Each change raises the epoch, so the epoch names the event.
local epoch = redis.call('HINCRBY', person, 'epoch', 1)
redis.call('HSET', outbox, 'address.changed:' .. epoch, event)
return 'changed'
