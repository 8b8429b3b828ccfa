-- Deletes the e-mail index entry of an account.
--
-- KEYS
--   1 email  string: account id
-- ARGV
--   1 account_id
-- Returns 1 if it was deleted, 0 if it is missing or belongs to another account

local email = KEYS[1]
local account_id = ARGV[1]

if redis.call('GET', email) == account_id then
  return redis.call('DEL', email)
end
return 0
