-- Removes the way from an e-mail address to an account, when it leads to that account.
--
-- KEYS
--   1 email  string: account id
-- ARGV
--   1 account_id
-- Returns 1 when it was removed, otherwise 0

local email = KEYS[1]
local account_id = ARGV[1]

if redis.call('GET', email) == account_id then
  return redis.call('DEL', email)
end
return 0
