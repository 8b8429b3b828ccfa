-- Notes the indicators that an account used on a UTC day. Idempotent.
--
-- KEYS, all with the account's hash tag
--   1 account  hash: state
--   2 used     zset: indicator id by the number of the last UTC day on which it was used
-- ARGV
--   1 day      number of the UTC day
--   2 oldest   number of the oldest day that is kept
--   3 most     ids that are kept; those used longest ago go first
--   4 kept_ms  how long the record lives without further use
--   5.. ids
-- Returns the number of ids that were new

local account, used = unpack(KEYS)
local day, oldest, most, kept_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

-- An erased account must not get the record back.
local state = redis.call('HGET', account, 'state')
if not state or state == 'closed' then
  return 0
end
local new = 0
for i = 5, #ARGV do
  new = new + redis.call('ZADD', used, 'GT', day, ARGV[i])
end
redis.call('ZREMRANGEBYSCORE', used, '-inf', '(' .. oldest)
redis.call('ZREMRANGEBYRANK', used, 0, -most - 1)
redis.call('PEXPIRE', used, kept_ms)
return new
