-- Sets the balance below which its person wants a mail. One that is below it already is not told: nothing was crossed.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 alert    hash: low_at, told
-- ARGV
--   1 low_at  credits; 0 for no mail
-- Returns 'set' | 'closed' | 'unknown'

local account, alert = unpack(KEYS)
local low_at = tonumber(ARGV[1])

local facts = redis.call('HMGET', account, 'state', 'balance')
if not facts[1] then
  return 'unknown'
elseif facts[1] == 'closed' then
  return 'closed'
elseif low_at == 0 then
  redis.call('DEL', alert)
else
  local told = tonumber(facts[2]) < low_at and '1' or '0'
  redis.call('HSET', alert, 'low_at', ARGV[1], 'told', told)
end
return 'set'
