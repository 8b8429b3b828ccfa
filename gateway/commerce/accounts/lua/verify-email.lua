-- Marks the e-mail address of an account as verified and grants the credits for it, once.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 ledger   stream
-- ARGV
--   1 now_ms
--   2 credits  0 or more
--   3 by
-- Returns { 'changed' | 'unchanged', balance } | { 'unknown' } | { 'closed' }

local account, ledger = unpack(KEYS)
local now_ms, credits, by = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local facts = redis.call('HMGET', account, 'state', 'verified', 'balance')
if not facts[1] then
  return { 'unknown' }
elseif facts[1] == 'closed' then
  return { 'closed' }
elseif facts[2] == '1' then
  return { 'unchanged', tonumber(facts[3]) }
end

redis.call('HSET', account, 'verified', '1')
local balance = tonumber(facts[3])
if credits > 0 then
  balance = redis.call('HINCRBY', account, 'balance', credits)
  redis.call('HINCRBY', account, 'granted', credits)
  redis.call('XADD', ledger, '*', 'at_ms', now_ms, 'kind', 'grant', 'delta', credits, 'balance', balance,
    'by', by, 'reason', 'e-mail address verified')
end
return { 'changed', balance }
