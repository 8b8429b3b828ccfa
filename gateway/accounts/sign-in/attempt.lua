-- Admits an attempt or returns how long to wait. An attempt counts as a failure until it is reset, so that concurrent
-- guesses throttle each other too.
--
-- KEYS
--   1 throttle  hash: failures, last_ms
-- ARGV
--   1 now_ms
--   2 free_attempts  failures without a delay
--   3 max_delay_ms   upper bound of the doubling delay
--   4 ttl_ms         failures expire after this time without an attempt
-- Returns the wait in milliseconds; 0 if the attempt may proceed

local throttle = KEYS[1]
local now_ms, free_attempts, max_delay_ms, ttl_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]

local FIRST_DELAY_MS = 1000

local facts = redis.call('HMGET', throttle, 'failures', 'last_ms')
local failures, last_ms = tonumber(facts[1] or 0), tonumber(facts[2] or 0)
if failures >= free_attempts then
  local delay_ms = math.min(FIRST_DELAY_MS * 2 ^ math.min(failures - free_attempts, 30), max_delay_ms)
  local wait_ms = last_ms + delay_ms - now_ms
  if wait_ms > 0 then
    return math.ceil(wait_ms)
  end
end
redis.call('HSET', throttle, 'failures', failures + 1, 'last_ms', now_ms)
redis.call('PEXPIRE', throttle, ttl_ms)
return 0
