-- Makes a person who cannot sign in yet, unless the person exists or was erased.
--
-- KEYS, all with the person's hash tag
--   1 person    hash
--   2 accounts  set
-- ARGV
--   1 email          lower case
--   2 name
--   3 created_at_ms
--   4 account_id     of which the person is the owner; '' for none
-- Returns 'made' | 'kept'

local person, accounts = unpack(KEYS)
local email, name, created_at_ms, account_id = unpack(ARGV)

if redis.call('EXISTS', person) == 1 then
  return 'kept'
end
if account_id ~= '' then
  redis.call('SADD', accounts, account_id)
end
redis.call('HSET', person, 'email', email, 'name', name, 'created_at_ms', created_at_ms, 'epoch', '0')
return 'made'
