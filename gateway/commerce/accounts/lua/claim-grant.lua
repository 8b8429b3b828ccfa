-- Decides whether a new account gets the free credits: within the bound of each group of accounts that it belongs to. Also
-- records it in the groups that operators see, granted or not.
--
-- KEYS, all with the hash tag {grants}
--   1 clusters                 zset: <kind>:<digest> of a group by its last sign-up
--   2 3 mailbox seen, granted  zsets: account ids by sign-up, all of them and those with the free credits
--   4 5 range seen, granted
--   6 7 domain seen, granted
-- ARGV
--   1 now_ms
--   2 account_id
--   3 window_ms     a grant counts for this long
--   4 seen_ms       a sign-up is listed for this long
--   5.. for each group: name in clusters, and the most grants in a window, or '' where there is no bound
-- Returns 'granted', or the number of the group (0 mailbox, 1 range, 2 domain) whose bound is reached. Repeating it for the
-- same account gives the same answer and counts once.

local clusters = KEYS[1]
local now_ms, account_id, window_ms, seen_ms = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

local GROUPS = 3
local reached = nil

for group = 0, GROUPS - 1 do
  local seen, granted = KEYS[2 + 2 * group], KEYS[3 + 2 * group]
  local name, most = ARGV[5 + 2 * group], tonumber(ARGV[6 + 2 * group])
  if most then
    redis.call('ZREMRANGEBYSCORE', seen, '-inf', now_ms - seen_ms)
    redis.call('ZADD', seen, 'NX', now_ms, account_id)
    redis.call('PEXPIRE', seen, seen_ms)
    redis.call('ZADD', clusters, now_ms, name)
    redis.call('ZREMRANGEBYSCORE', granted, '-inf', now_ms - window_ms)
    if not redis.call('ZSCORE', granted, account_id) and redis.call('ZCARD', granted) >= most then
      reached = reached or group
    end
  end
end
redis.call('ZREMRANGEBYSCORE', clusters, '-inf', now_ms - seen_ms)
if reached then
  return reached
end

for group = 0, GROUPS - 1 do
  if tonumber(ARGV[6 + 2 * group]) then
    local granted = KEYS[3 + 2 * group]
    redis.call('ZADD', granted, 'NX', now_ms, account_id)
    redis.call('PEXPIRE', granted, window_ms)
  end
end
return 'granted'
