-- Creates an order of a credit pack. Grants nothing.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 order    hash
--   3 orders   zset: order ids of the account by creation
--   4 outbox   hash: <type>:<id> -> JSON of an event that is to be told
-- ARGV
--   1 now_ms
--   2 order_id
--   3 pack_id
--   4 pack_name
--   5 credits
--   6 price_minor
--   7 currency
--   8 payment  payment method
--   9 by       who places it; '' if nobody is known, which tells nobody by mail. Only a person is kept with the order
-- Returns { 'created' } (also if it exists already) | { 'unknown' } | { 'closed' }

local account, order, orders, outbox = unpack(KEYS)
local now_ms, order_id, pack_id, pack_name, credits, price_minor, currency, payment, by = unpack(ARGV)

local state = redis.call('HGET', account, 'state')
if not state then
  return { 'unknown' }
elseif state == 'closed' then
  return { 'closed' }
elseif redis.call('EXISTS', order) == 0 then
  redis.call('HSET', order, 'state', 'pending', 'pack_id', pack_id, 'pack_name', pack_name, 'credits', credits,
    'price_minor', price_minor, 'currency', currency, 'payment', payment, 'by', string.match(by, '^per_.*') or '', 'created_at_ms', now_ms)
  redis.call('ZADD', orders, now_ms, order_id)
  local data = { order_id = order_id, pack_id = pack_id, credits = credits, price_minor = price_minor, currency = currency }
  redis.call('HSET', outbox, 'order.placed:' .. order_id,
    cjson.encode({ type = 'order.placed', at_ms = tonumber(now_ms), by = by, data = data }))
end
return { 'created' }
