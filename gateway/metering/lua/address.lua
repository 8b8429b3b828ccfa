-- Leases a number of anonymous requests to a gateway, out of what an address may still send.
--
-- KEYS, both with the address' hash tag
--   1 minute  counter of the current UTC minute
--   2 day     counter of the current UTC day
-- ARGV
--   1 per_minute
--   2 per_day
--   3 wanted  at most
-- Returns { leased, full }: how many are leased (0 to wanted), and, when 0, which window is full: minute | day

local minute, day = unpack(KEYS)
local per_minute, per_day, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local MINUTE_KEPT_MS = 120000
local DAY_KEPT_MS = 172800000
local LEFT_PER_LEASE = 16

local used = redis.call('MGET', minute, day)
local minute_left = per_minute - (used[1] or 0)
local day_left = per_day - (used[2] or 0)
if day_left <= 0 then
  return { 0, 'day' }
elseif minute_left <= 0 then
  return { 0, 'minute' }
end

-- Less at a time as the end comes near: what one process holds, another one would miss there.
local left = math.min(minute_left, day_left)
local leased = math.min(wanted, math.max(1, math.floor(left / LEFT_PER_LEASE)))
redis.call('INCRBY', minute, leased)
redis.call('INCRBY', day, leased)
if not used[1] then
  redis.call('PEXPIRE', minute, MINUTE_KEPT_MS)
end
if not used[2] then
  redis.call('PEXPIRE', day, DAY_KEPT_MS)
end
return { leased, '' }
