-- Lets one attempt go ahead, or says how long it must wait. An attempt counts as failed until it is forgiven, so that
-- guesses sent at the same time wait for each other too.
--
-- KEYS
--   1 throttle  hash: failures, last_ms
-- ARGV
--   1 now_ms
--   2 free          attempts without a delay
--   3 longest_ms    the delay doubles up to this
--   4 kept_ms       forgotten when nobody tried for so long
-- Returns the wait in milliseconds; 0 when the attempt may go ahead.

local throttle = KEYS[1]
local now_ms, free, longest_ms, kept_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]

local FIRST_DELAY_MS = 1000

local facts = redis.call('HMGET', throttle, 'failures', 'last_ms')
local failures, last_ms = tonumber(facts[1] or 0), tonumber(facts[2] or 0)
if failures >= free then
  local delay_ms = math.min(FIRST_DELAY_MS * 2 ^ math.min(failures - free, 30), longest_ms)
  local wait_ms = last_ms + delay_ms - now_ms
  if wait_ms > 0 then
    return math.ceil(wait_ms)
  end
end
redis.call('HSET', throttle, 'failures', failures + 1, 'last_ms', now_ms)
redis.call('PEXPIRE', throttle, kept_ms)
return 0
