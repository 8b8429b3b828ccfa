-- Decides one keyed request: key and account state, rate windows, balance, debit, ledger, usage.
--
-- KEYS, all with the account's hash tag
--   1 account   hash: state, verified, paid (number of paid orders), balance, spent
--   2 keys      hash: <key id>:state, <key id>:last_used_ms
--   3 minute    counter of the current UTC minute
--   4 day       counter of the current UTC day
--   5 ledger    stream
--   6 usage     hash of the current UTC day: <route>|requests, errors, rows, credits
--   7 debits    hash of the current UTC minute: debit id -> balance after it, or 'void' when it was reversed
-- ARGV
--   1 now_ms      the gateway's clock
--   2 key_id
--   3 debit_id    made by the gateway; an id is charged once
--   4 price       credits, 0 or more
--   5 rows        observation rows that will be served
--   6 mode        'failed': the gateway will answer with an error in any case (price is 0); counted as an error
--                 'peek': only a rejection is counted; a second call for the same request follows and is counted
--   7 route       template, for usage and ledger
--   8 request_id  for the ledger
--   9.. limits    per minute and per day of: anonymous, free, paid
-- Returns { outcome, charged, balance, tier, minute_limit, minute_used, day_limit, day_used }
--   outcome: admitted | rate_limited | insufficient_credits; invalid_key and reversed come without the rest
--
-- A rejection costs nothing. Only debits are remembered; repeating any other request decides it anew, for free.
-- Expiries are relative, so they do not depend on the gateway's clock.

local account, keys, minute, day, ledger, usage, debits = unpack(KEYS)
local now_ms, key_id, debit_id = ARGV[1], ARGV[2], ARGV[3]
local price, rows, mode = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local route, request_id = ARGV[7], ARGV[8]

local DEBITS_KEPT_MS = 180000   -- the minute itself and two more
local MINUTE_KEPT_MS = 120000
local DAY_KEPT_MS = 172800000
local USAGE_KEPT_MS = 8640000000 -- 100 days
local LAST_USED_STEP_MS = 1000

local fields = redis.call('HMGET', account, 'state', 'verified', 'paid', 'balance', 'spent')
local key = redis.call('HMGET', keys, key_id .. ':state', key_id .. ':last_used_ms')
if fields[1] ~= 'active' or key[1] ~= 'active' then
  return { 'invalid_key' }
end

local tier, first_limit = 'anonymous', 9
if fields[2] == '1' then
  if fields[3] and fields[3] ~= '0' then
    tier, first_limit = 'paid', 13
  else
    tier, first_limit = 'free', 11
  end
end
local minute_limit, day_limit = tonumber(ARGV[first_limit]), tonumber(ARGV[first_limit + 1])
local balance = tonumber(fields[4])

local used = redis.call('MGET', minute, day)
local minute_used, day_used = tonumber(used[1] or 0), tonumber(used[2] or 0)

if price > 0 then
  local first = redis.call('HGET', debits, debit_id)
  if first == 'void' then
    return { 'reversed' }
  elseif first then
    return { 'admitted', price, tonumber(first), tier, minute_limit, minute_used, day_limit, day_used }
  end
end

local function count(field, by)
  if by ~= 0 then
    redis.call('HINCRBY', usage, route .. '|' .. field, by)
  end
end

if minute_used >= minute_limit or day_used >= day_limit then
  count('requests', 1)
  count('errors', 1)
  return { 'rate_limited', 0, balance, tier, minute_limit, minute_used, day_limit, day_used }
end

if mode == 'peek' then
  return { 'admitted', 0, balance, tier, minute_limit, minute_used, day_limit, day_used }
end

minute_used = redis.call('INCR', minute)
day_used = redis.call('INCR', day)
if minute_used == 1 then
  redis.call('PEXPIRE', minute, MINUTE_KEPT_MS)
end
count('requests', 1)
if day_used == 1 then
  redis.call('PEXPIRE', day, DAY_KEPT_MS)
  redis.call('PEXPIRE', usage, USAGE_KEPT_MS)
end
if not key[2] or now_ms - key[2] >= LAST_USED_STEP_MS then
  redis.call('HSET', keys, key_id .. ':last_used_ms', now_ms)
end

if balance < price then
  count('errors', 1)
  return { 'insufficient_credits', 0, balance, tier, minute_limit, minute_used, day_limit, day_used }
end

if price > 0 then
  balance = balance - price
  redis.call('HSET', account, 'balance', balance, 'spent', fields[5] + price)
  redis.call('XADD', ledger, '*', 'at_ms', now_ms, 'kind', 'debit', 'delta', -price, 'balance', balance,
    'request', request_id, 'route', route, 'key', key_id, 'rows', rows)
  if redis.call('HSET', debits, debit_id, balance) == 1 and redis.call('HLEN', debits) == 1 then
    redis.call('PEXPIRE', debits, DEBITS_KEPT_MS)
  end
  count('credits', price)
end
count('rows', rows)
if mode == 'failed' then
  count('errors', 1)
end
return { 'admitted', price, balance, tier, minute_limit, minute_used, day_limit, day_used }
