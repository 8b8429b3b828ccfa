-- Counts a file that an address takes without a key. One that it took before within the hour is free.
--
-- KEYS, with the address' hash tag
--   1 downloads  set of the files taken in the current UTC hour
-- ARGV
--   1 file      digest of what is asked for
--   2 per_hour
-- Returns 1 where the file may be taken, else 0

local downloads = KEYS[1]
local file, per_hour = ARGV[1], tonumber(ARGV[2])

local HOUR_KEPT_MS = 7200000

if redis.call('SISMEMBER', downloads, file) == 1 then
  return 1
end
local taken = redis.call('SCARD', downloads)
if taken >= per_hour then
  return 0
end
redis.call('SADD', downloads, file)
if taken == 0 then
  redis.call('PEXPIRE', downloads, HOUR_KEPT_MS)
end
return 1
