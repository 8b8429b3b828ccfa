-- Uses up a time step of an authenticator app, so that its code and those of earlier steps are refused from now on.
--
-- KEYS
--   1 factor  hash: secret, since_ms, last_step, last_use, recovery:<digest>
-- ARGV
--   1 secret  with which the code was checked
--   2 step
--   3 use  id of this use: repeating it is the same use
-- Returns 'used' | 'refused' (used before, or the secret is another by now)

local factor = KEYS[1]
local secret, step, use = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local facts = redis.call('HMGET', factor, 'secret', 'last_step', 'last_use')
if facts[1] ~= secret then
  return 'refused'
elseif facts[3] == use then
  return 'used'
elseif step <= tonumber(facts[2]) then
  return 'refused'
end
redis.call('HSET', factor, 'last_step', step, 'last_use', use)
return 'used'
