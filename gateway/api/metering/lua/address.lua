-- Leases anonymous requests of one caller to a gateway.
--
-- KEYS, both with the address' hash tag
--   1 minute  counter of the current UTC minute
--   2 day     counter of the current UTC day
-- ARGV
--   1 per_minute
--   2 per_day
--   3 wanted  the most that is leased
-- Returns { leased, full }: the number leased, 0 to wanted; when 0, the window that is full: minute | day

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

-- Smaller leases near the limit, so that no gateway holds back what another could use.
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
