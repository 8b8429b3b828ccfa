-- Admits an attempt or returns how long to wait. An attempt counts as a failure until it is reset or refunded, so that
-- concurrent guesses throttle each other too. One failure is forgotten per decay_ms.
--
-- KEYS
--   1 throttle  hash: failures, last_ms, since_ms (from which the next decay is counted)
-- ARGV
--   1 now_ms
--   2 free_attempts  failures without a delay
--   3 max_delay_ms   upper bound of the doubling delay
--   4 decay_ms       time in which one failure is forgotten
--   5 ttl_ms         failures expire after this time without an attempt
-- Returns the wait in milliseconds; 0 if the attempt may proceed

local throttle = KEYS[1]
local now_ms, free_attempts, max_delay_ms, decay_ms, ttl_ms =
  tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]

local FIRST_DELAY_MS = 1000

local facts = redis.call('HMGET', throttle, 'failures', 'last_ms', 'since_ms')
local failures, last_ms = tonumber(facts[1] or 0), tonumber(facts[2] or 0)
local since_ms = tonumber(facts[3] or now_ms)
local forgotten = math.min(math.max(math.floor((now_ms - since_ms) / decay_ms), 0), failures)
failures = failures - forgotten
since_ms = since_ms + forgotten * decay_ms
if failures == 0 then
  since_ms = now_ms
end
if failures >= free_attempts then
  local delay_ms = math.min(FIRST_DELAY_MS * 2 ^ math.min(failures - free_attempts, 30), max_delay_ms)
  local wait_ms = last_ms + delay_ms - now_ms
  if wait_ms > 0 then
    return math.ceil(wait_ms)
  end
end
redis.call('HSET', throttle, 'failures', failures + 1, 'last_ms', now_ms, 'since_ms', since_ms)
redis.call('PEXPIRE', throttle, ttl_ms)
return 0
