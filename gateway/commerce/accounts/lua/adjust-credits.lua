-- Adds credits to an account, or takes them back down to a balance of zero.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 ledger   stream
--   3 idem     hash: results by idempotency key
-- ARGV
--   1 now_ms
--   2 idem     idempotency key: applies once, repeats return the first result
--   3 kind     ledger kind: grant | admin_adjust
--   4 delta    positive or negative
--   5 by
--   6 reason
-- Returns { 'done' | 'repeated', applied, shortfall, balance }
--   | { 'unknown' } | { 'closed' } | { 'too_large' } | { 'conflict', earlier delta }

local account, ledger, idems = unpack(KEYS)
local now_ms, idem, kind, delta, by, reason = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6]

local MAX_BALANCE = 9007199254740991 -- largest exact integer of a double

local facts = redis.call('HMGET', account, 'state', 'balance')
if not facts[1] then
  return { 'unknown' }
end
local balance = tonumber(facts[2])

local earlier = redis.call('HGET', idems, idem)
if earlier then
  local was = cjson.decode(earlier)
  if was.kind ~= kind or was.delta ~= ARGV[4] then
    return { 'conflict', was.delta }
  end
  return { 'repeated', tonumber(was.applied), tonumber(was.shortfall), tonumber(was.balance) }
end

if facts[1] == 'closed' and delta > 0 then
  return { 'closed' }
elseif balance + delta > MAX_BALANCE then
  return { 'too_large' }
end

local applied = math.max(delta, -balance)
local shortfall = applied - delta
if applied ~= 0 then
  balance = redis.call('HINCRBY', account, 'balance', applied)
  redis.call('HINCRBY', account, 'granted', applied)
  redis.call('XADD', ledger, '*', 'at_ms', now_ms, 'kind', kind, 'delta', applied, 'balance', balance,
    'by', by, 'reason', reason)
end
local function text(number)
  return string.format('%.0f', number)
end
redis.call('HSET', idems, idem, cjson.encode({
  kind = kind, delta = ARGV[4], applied = text(applied), shortfall = text(shortfall), balance = text(balance),
}))
return { 'done', applied, shortfall, balance }
