-- Takes over the roles that earlier versions stored with each operator, unless that was done.
--
-- KEYS
--   1 roles  hash: digest of an operator's address -> role
-- ARGV
--   digest and role of each operator, in turns
-- Returns 1 when they were taken over, else 0

local roles = KEYS[1]

if #ARGV == 0 or redis.call('EXISTS', roles) == 1 then
  return 0
end
redis.call('HSET', roles, unpack(ARGV))
return 1
