-- Sets fields of a record of an account that is not closed. Idempotent.
--
-- KEYS, both with the account's hash tag
--   1 account  hash
--   2 record   hash: the account itself, or one of its own
-- ARGV
--   field, value in turn
-- Returns 'set' | 'unknown' | 'closed'

local account, record = unpack(KEYS)

local state = redis.call('HGET', account, 'state')
if not state then
  return 'unknown'
elseif state == 'closed' then
  return 'closed'
end
redis.call('HSET', record, unpack(ARGV))
return 'set'
