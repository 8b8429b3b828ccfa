-- Takes back one counted attempt, because it turned out to be right. Failures of others stay.
--
-- KEYS
--   1 throttle  hash: failures, last_ms, since_ms
-- Returns the failures that remain

local throttle = KEYS[1]

local failures = tonumber(redis.call('HGET', throttle, 'failures') or 0)
if failures <= 0 then
  return 0
end
return redis.call('HINCRBY', throttle, 'failures', -1)
