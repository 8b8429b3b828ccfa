-- Replaces the recovery codes of a user whose second factor is on.
--
-- KEYS
--   1 factor  hash: secret, since_ms, last_step, last_use, recovery:<digest>
-- ARGV
--   1… recovery  fields of the new codes
-- Returns 'renewed' | 'off'

local factor = KEYS[1]

if redis.call('HEXISTS', factor, 'secret') == 0 then
  return 'off'
end
for _, field in ipairs(redis.call('HKEYS', factor)) do
  if string.sub(field, 1, 9) == 'recovery:' then
    redis.call('HDEL', factor, field)
  end
end
for i = 1, #ARGV do
  redis.call('HSET', factor, ARGV[i], '1')
end
return 'renewed'
