-- Deletes the e-mail index entry of a person.
--
-- KEYS
--   1 email  string: id of a person
-- ARGV
--   1 id
-- Returns 1 if it was deleted, 0 if it is missing or belongs to somebody else

local email = KEYS[1]
local id = ARGV[1]

if redis.call('GET', email) == id then
  return redis.call('DEL', email)
end
return 0
