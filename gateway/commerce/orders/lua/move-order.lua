-- Moves an order, by hand or by a report of the payment provider. `paid` grants the order's credits, `refunded` takes them
-- back down to a balance of zero. Idempotent.
--
-- By hand: pending -> paid | failed | cancelled, paid -> refunded.
-- A report is recorded, and the order gets the state that follows from all reports. The reports of an order are a set:
-- their sequence and repetition do not matter.
--
--   a payment that was not refunded           paid, whatever an older session reported
--   payments, all of them refunded            refunded
--   no payment, a session that is open        pending
--   no payment, all known sessions ended      failed if a payment of one failed, else cancelled
--
-- A refund that is reported before its payment is kept until the payment comes. What was decided by hand stays, except
-- that a payment makes an order paid unless it was refunded by hand.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 ledger   stream
--   3 order    hash; reports are its fields session:<id>, payment:<id> and refund:<id>
--   4 outbox   hash: <type>:<id> -> JSON of an event that is to be told
-- ARGV
--   1 now_ms
--   2 order_id
--   3 report   open | expired | failed | paid (of a session) | refunded (of a payment) | hand
--   4 session  id of the session, '' for refunded; by hand the state: paid | failed | cancelled | refunded
--   5 payment  id of the payment; '' if the provider names none, and by hand
--   6 by       who moves it; '' tells nobody by mail
-- Returns { 'changed' | 'recorded' | 'unchanged', state, balance, payments that were not refunded, previous state }
--   | { 'refused', state } | { 'unknown' } | { 'too_large' }

local account, ledger, order, outbox = unpack(KEYS)
local now_ms, order_id, report, session, payment, by = unpack(ARGV)

local MAX_BALANCE = 9007199254740991 -- largest exact integer of a double
local RANK = { open = 1, expired = 2, failed = 3, paid = 4 }

local facts = {}
local flat = redis.call('HGETALL', order)
for i = 1, #flat, 2 do
  facts[flat[i]] = flat[i + 1]
end
local state = facts.state
if not state then
  return { 'unknown' }
elseif report == 'open' and state ~= 'pending' then
  return { 'refused', state }
end
local balance = tonumber(redis.call('HGET', account, 'balance'))
local is_manual = report == 'hand'
if is_manual then
  local to = session
  if state == to then
    return { 'unchanged', state, balance, 0, state }
  elseif not ((state == 'pending' and to ~= 'refunded') or (state == 'paid' and to == 'refunded')) then
    return { 'refused', state }
  end
end

local news = {}
local function learn(field, value)
  facts[field] = value
  news[#news + 1] = field
  news[#news + 1] = value
end
if report == 'refunded' then
  if not facts['refund:' .. payment] then
    learn('refund:' .. payment, now_ms)
  end
elseif not is_manual then
  if report == 'paid' and not facts['payment:' .. payment] then
    learn('payment:' .. payment, now_ms)
  end
  local known = facts['session:' .. session]
  if not known or RANK[known] < RANK[report] then
    learn('session:' .. session, report)
  end
end

local payments, unrefunded = 0, 0
local sessions = { open = 0, expired = 0, failed = 0, paid = 0 }
for field, value in pairs(facts) do
  local kind, id = string.match(field, '^(%a+):(.*)$')
  if kind == 'session' then
    sessions[value] = sessions[value] + 1
  elseif kind == 'payment' then
    payments = payments + 1
    if not facts['refund:' .. id] then
      unrefunded = unrefunded + 1
    end
  end
end
-- A refund without the id of its payment can only mean the one payment.
if payments == 1 and facts['refund:'] then
  unrefunded = 0
end
if #news == 0 and not is_manual then
  return { 'unchanged', state, balance, unrefunded, state }
end

local by_hand = state ~= 'pending' and not facts.settled
local to = state
if is_manual then
  to = session
elseif state == 'refunded' and by_hand then
  to = state
elseif unrefunded > 0 then
  to = 'paid'
elseif payments > 0 or (state == 'paid' and report == 'refunded') then
  to = 'refunded'
elseif state ~= 'paid' and not by_hand then
  to = (sessions.open > 0 and 'pending') or (sessions.failed > 0 and 'failed')
    or (sessions.expired > 0 and 'cancelled') or state
end
if to == state then
  redis.call('HSET', order, unpack(news))
  return { 'recorded', state, balance, unrefunded, state }
end

local credits, shortfall = tonumber(facts.credits), tonumber(facts.shortfall or 0)
local entries = {}
if state ~= 'paid' and (to == 'paid' or to == 'refunded') then
  -- Credits of a refunded order that were spent are not granted again.
  local granted = credits - shortfall
  if balance + granted > MAX_BALANCE then
    return { 'too_large' }
  end
  entries[#entries + 1] = { 'purchase', granted }
  shortfall = 0
end
if to == 'refunded' then
  -- A refund that came before its payment takes back what was granted in this very step.
  local left = state == 'paid' and balance or credits
  entries[#entries + 1] = { 'refund', -math.min(credits, left) }
  shortfall = credits - math.min(credits, left)
end

if is_manual then
  redis.call('HDEL', order, 'settled')
else
  redis.call('HSET', order, 'settled', '1', unpack(news))
end
redis.call('HSET', order, 'state', to, to .. '_at_ms', now_ms, 'shortfall', shortfall)
if state == 'paid' or to == 'paid' then
  redis.call('HINCRBY', account, 'paid', to == 'paid' and 1 or -1)
end
for _, entry in ipairs(entries) do
  local kind, delta = unpack(entry)
  if delta ~= 0 then
    balance = redis.call('HINCRBY', account, 'balance', delta)
    redis.call('HINCRBY', account, 'granted', delta)
    redis.call('XADD', ledger, '*', 'at_ms', now_ms, 'kind', kind, 'delta', delta, 'balance', balance,
      'order', order_id)
  end
end
if to ~= 'pending' then
  local type, data = 'order.' .. to, { order_id = order_id }
  for _, name in ipairs({ 'pack_id', 'credits', 'price_minor', 'currency' }) do
    data[name] = facts[name]
  end
  redis.call('HSET', outbox, type .. ':' .. order_id .. ':' .. now_ms,
    cjson.encode({ type = type, at_ms = tonumber(now_ms), by = by, data = data }))
end
return { 'changed', to, balance, unrefunded, state }
