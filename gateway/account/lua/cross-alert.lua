-- Notices that a balance went below its person's threshold; once it was told, not again before it has come back up.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 alert    hash: low_at, told
-- ARGV
--   1 told  '1' when the person has been told of it just now
-- Returns 'crossed' (and not yet told) | 'nothing'

local account, alert = unpack(KEYS)
local told_now = ARGV[1] == '1'

local wanted = redis.call('HMGET', alert, 'low_at', 'told')
local balance = tonumber(redis.call('HGET', account, 'balance'))
if not wanted[1] or not balance then
  return 'nothing'
elseif told_now then
  redis.call('HSET', alert, 'told', '1')
  return 'nothing'
elseif balance >= tonumber(wanted[1]) then
  redis.call('HSET', alert, 'told', '0')
  return 'nothing'
end
return wanted[2] == '1' and 'nothing' or 'crossed'
