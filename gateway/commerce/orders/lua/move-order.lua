-- Changes the state of an order by hand: pending -> paid | failed | cancelled, paid -> refunded. Idempotent.
-- `paid` grants the order's credits, `refunded` takes them back down to a balance of zero.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 ledger   stream
--   3 order    hash
--   4 webhooks hash; where it exists the event is stored for it
-- ARGV
--   1 now_ms
--   2 order_id
--   3 to        paid | failed | cancelled | refunded
-- Returns { 'changed' | 'unchanged', state, balance, shortfall } | { 'refused', state } | { 'unknown' } | { 'too_large' }
--   shortfall: credits of a refunded order that were already spent

local account, ledger, order, webhooks = unpack(KEYS)
local now_ms, order_id, to = ARGV[1], ARGV[2], ARGV[3]

local MAX_BALANCE = 9007199254740991 -- largest exact integer of a double

local facts = redis.call('HMGET', order, 'state', 'credits', 'shortfall')
local state = facts[1]
if not state then
  return { 'unknown' }
end
local balance = tonumber(redis.call('HGET', account, 'balance'))
if state == to then
  return { 'unchanged', state, balance, tonumber(facts[3] or 0) }
end
local allowed = (state == 'pending' and to ~= 'refunded') or (state == 'paid' and to == 'refunded')
if not allowed then
  return { 'refused', state }
end

local kind, delta, shortfall = nil, 0, 0
if to == 'paid' then
  kind, delta = 'purchase', tonumber(facts[2])
  if balance + delta > MAX_BALANCE then
    return { 'too_large' }
  end
  redis.call('HINCRBY', account, 'paid', 1)
elseif to == 'refunded' then
  kind, delta = 'refund', -math.min(tonumber(facts[2]), balance)
  shortfall = facts[2] + delta
  redis.call('HINCRBY', account, 'paid', -1)
end

-- Decided by hand, not by reports of the payment provider; see settle-order.lua.
redis.call('HDEL', order, 'settled')
redis.call('HSET', order, 'state', to, to .. '_at_ms', now_ms, 'shortfall', shortfall)
if delta ~= 0 then
  balance = redis.call('HINCRBY', account, 'balance', delta)
  redis.call('HINCRBY', account, 'granted', delta)
  redis.call('XADD', ledger, '*', 'at_ms', now_ms, 'kind', kind, 'delta', delta, 'balance', balance,
    'order', order_id)
end
if (to == 'paid' or to == 'refunded') and redis.call('EXISTS', webhooks) == 1 then
  local type, data = 'order.' .. to, { order_id = order_id }
  for _, name in ipairs({ 'pack_id', 'credits', 'price_minor', 'currency' }) do
    data[name] = redis.call('HGET', order, name)
  end
  redis.call('HSET', webhooks, 'event:' .. type .. ':' .. order_id .. ':' .. now_ms,
    cjson.encode({ type = type, at_ms = tonumber(now_ms), data = data }))
end
return { 'changed', to, balance, shortfall }
