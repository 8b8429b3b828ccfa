-- Turns the second factor of a user on, unless it is on with another secret.
--
-- KEYS
--   1 factor  hash: secret, since_ms, last_step, last_use, recovery:<digest>
-- ARGV
--   1 now_ms
--   2 secret     in base32
--   3 step       time step of the code that proved it, which is thereby used
--   4… recovery  fields of the recovery codes; repeating the same ones is the same change
-- Returns 'on' | 'already_on'

local factor = KEYS[1]
local now_ms, secret, step = ARGV[1], ARGV[2], ARGV[3]

local stored = redis.call('HGET', factor, 'secret')
if stored then
  return redis.call('HEXISTS', factor, ARGV[4]) == 1 and 'on' or 'already_on'
end
redis.call('HSET', factor, 'secret', secret, 'since_ms', now_ms, 'last_step', step)
for i = 4, #ARGV do
  redis.call('HSET', factor, ARGV[i], '1')
end
return 'on'
