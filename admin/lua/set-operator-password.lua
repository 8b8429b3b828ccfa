-- Sets the password of an operator and ends its sessions, unless the operator has changed since a link was made.
--
-- KEYS
--   1 operator  hash
-- ARGV
--   1 expected  epoch of the operator when the link was made
--   2 password  hashed
--   3 epoch     the next one
-- Returns 1 when it is set; 0 for another epoch or no such operator

local operator = KEYS[1]
local expected, password, epoch = ARGV[1], ARGV[2], ARGV[3]

if redis.call('HGET', operator, 'epoch') ~= expected then
  return 0
end
redis.call('HSET', operator, 'password', password, 'epoch', epoch)
return 1
