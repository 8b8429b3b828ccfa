-- Decides one keyed request: key and account state, rules of the key, feed link, rate windows, idempotency, lease of a file, monthly
-- limit of the key, balance, debit, ledger, usage.
--
-- KEYS, all with the account's hash tag
--   1 account   hash: state, verified, paid (number of paid orders), balance, spent
--   2 keys      hash: <key id>: state, last_used_ms, month; bound: '1' where expires_at_ms, limit, ranges, origins or
--               counted_with may be set
--   3 minute    counter of the current UTC minute
--   4 day       counter of the current UTC day
--   5 ledger    stream
--   6 usage     hash of the current UTC day: <route>|<key id>|requests, errors, rows, credits
--   7 debits    hash of the current UTC minute: debit id -> balance after it, or 'void' when it was reversed
--   8 record    hash of the call's Idempotency-Key: fingerprint, edition, debit (its id), repeats; absent where none was sent, for a
--               file then the account
--   9 lease     only for a file: hash of its content: left (bytes), debit (its id), uses (after the first); for a peek the account.
--               For a feed link instead feeds, hash: <feed id>: key, revoked_at_ms, expires_at_ms, cap, month, day, paid, fetches
--  10 pin       only for a file: string, the edition that its URL is answered from; the account for a URL that names one
-- ARGV
--   1 now_ms      the gateway's clock
--   2 key_id
--   3 debit_id    made by the gateway; an id is charged once
--   4 price       credits, 0 or more
--   5 rows        observation rows that will be served
--   6 mode        'failed': the gateway will answer with an error in any case (price is 0); counted as an error
--                 'peek': only a rejection is counted, also one for want of credits; otherwise nothing is charged, and a second call for
--                 the same request follows and is counted
--   7 route       template, for usage and ledger
--   8 request_id  for the ledger
--   9.. limits    per minute and per day of: anonymous, free, paid
--  15 month       UTC, '2026-11'
--  16 indicators  for the ledger, or ''
--  absent from here on where the rest is empty, as for most calls: each argument costs a hundredth of the script
--  17 address     of the caller, in the form of the key's ranges; '' where the gateway knows of no rules of the key
--  18 origin      that the caller's browser sent, or ''
--  19 fingerprint of a call with an Idempotency-Key, otherwise ''
--  20 edition     that the call is answered from
--  only for a file that is not peeked at:
--  21 bytes       that will be sent
--  22 allowance   bytes that a lease covers
--  23 follows     '1': the edition is that of the pin; where no lease covers the bytes, only the pin is deleted (lease_over)
--  24 looks       '1': no lease is begun or used; for a call of price 0
--  25 max_credits or ''
--  only for a feed link, with 20, 21 and, for '' in the others:
--  22 allowance   bytes that it sends in a UTC day
--  23 follows     '1': admits only content that is paid
--  26 feed_id
--  27 content     digest of its rows; '' where nothing is served
-- Returns { outcome, charged, balance, tier, minute_used, day_used, repeated, of_file }; the gateway knows the limits of the tier
--   outcome: admitted | rate_limited | insufficient_credits | max_credits_exceeded | idempotency_conflict | lease_over;
--            key_limit_reached: repeated is the key's monthly limit, of_file what was used of it;
--            feed_unpaid | feed_bytes_reached; feed_over comes without the rest;
--            restricted comes with 'address' or 'origin' alone; invalid_key comes with 'suspended' alone where that is
--            why; source_needed and reversed come without the rest
--   repeated: the edition of the first call when this one repeats it and is free, otherwise '' or absent
--   of_file: for a peek the edition of the pin, otherwise 1 when a lease covers the bytes or the content of a feed link is paid;
--            absent where there is none
--
-- A lease is begun by a debit, covers `allowance` bytes of one content within LEASE_KEPT_MS, and is free from then on. Its pin
-- holds the edition for as long. A repeat of a call for a file is free as far as the lease covers it.
-- A feed link pays once for each content: `paid` has the last PAID_MAX of them, each with its debit and whether it was shared,
-- that is, served again. Its `month` is as that of a key, its `day` the number of the latest UTC day and the bytes sent in it.
-- `month` of a key is its latest month and the credits charged in it: 2026-11=120.
-- A key with rules needs address and origin: without them nothing is changed, and the outcome is source_needed.
-- A key that was replaced counts for the limit of the key that replaced it (counted_with) as long as it lives. The month of a key
-- never goes back, so that a gateway whose clock is slow begins no month anew.
-- The record is written with the debit, so a call that costs nothing has none. A repeat is free up to REPEATS_MAX times.
-- A rejection costs nothing. Only debits are remembered; repeating any other request decides it anew, for free.
-- Expiries are relative, so they do not depend on the gateway's clock.

local account, keys, minute, day, ledger, usage, debits, record, lease, pin = unpack(KEYS)
local now_ms, key_id, debit_id = ARGV[1], ARGV[2], ARGV[3]
local price, rows, mode = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local route, request_id = ARGV[7], ARGV[8]
local month, indicators, address, origin = ARGV[15], ARGV[16], ARGV[17] or '', ARGV[18] or ''
local fingerprint, edition = ARGV[19] or '', ARGV[20]
local bytes, allowance = tonumber(ARGV[21]), tonumber(ARGV[22])
local follows, looks, max_credits = ARGV[23] == '1', ARGV[24] == '1', tonumber(ARGV[25])
local feeds, feed_id, content = nil, ARGV[26], ARGV[27]
if feed_id then
  feeds, lease = lease, nil
end

local DEBITS_KEPT_MS = 180000   -- the minute itself and two more
local MINUTE_KEPT_MS = 120000
local DAY_KEPT_MS = 172800000
local USAGE_KEPT_MS = 8640000000 -- 100 days
local LAST_USED_STEP_MS = 1000
local RECORD_KEPT_MS = 600000
local REPEATS_MAX = 5
local LEASE_KEPT_MS = 86400000
local PAID_MAX = 8

local fields = redis.call('HMGET', account, 'state', 'verified', 'paid', 'balance', 'spent')
local key = redis.call('HMGET', keys, key_id .. ':state', key_id .. ':last_used_ms', key_id .. ':month', key_id .. ':bound')
if fields[1] ~= 'active' or key[1] ~= 'active' then
  return { 'invalid_key', key[1] == 'active' and fields[1] == 'suspended' and 'suspended' or nil }
end

local counter = route .. '|' .. key_id .. '|'
local function count(field, by)
  if by ~= 0 then
    redis.call('HINCRBY', usage, counter .. field, by)
  end
end

-- The key whose month counts, that month, and the limit.
local counted, latest, limit = key_id, key[3], nil

local function is_in(ranges)
  for first, last in string.gmatch(ranges, '=(%x+)-(%x+)') do
    if #first == #address and address >= first and address <= last then
      return true
    end
  end
  return false
end

if key[4] then
  local rules = redis.call('HMGET', keys, key_id .. ':expires_at_ms', key_id .. ':ranges', key_id .. ':origins',
    key_id .. ':limit', key_id .. ':counted_with')
  local expires_at_ms, ranges, origins = tonumber(rules[1] or ''), rules[2] or '', rules[3] or ''
  if expires_at_ms and tonumber(now_ms) >= expires_at_ms then
    return { 'invalid_key' }
  end
  if feed_id then
    ranges, origins = '', ''
  end
  if (ranges ~= '' or origins ~= '') and address == '' then
    return { 'source_needed' }
  end
  local broken = ranges ~= '' and not is_in(ranges) and 'address'
    or origins ~= '' and not string.find(' ' .. origins .. ' ', ' ' .. origin .. ' ', 1, true) and 'origin'
  if broken then
    count('requests', 1)
    count('errors', 1)
    redis.call('PEXPIRE', usage, USAGE_KEPT_MS)
    return { 'restricted', broken }
  end
  limit = tonumber(rules[4] or '')
  if rules[5] then
    local other = redis.call('HMGET', keys, rules[5] .. ':state', rules[5] .. ':limit', rules[5] .. ':month')
    if other[1] then
      counted, limit, latest = rules[5], tonumber(other[2] or ''), other[3]
    end
  end
end

local feed, paid, known = nil, nil, nil
if feed_id then
  local names = {}
  for at, name in ipairs({ 'key', 'revoked_at_ms', 'expires_at_ms', 'cap', 'month', 'day', 'paid' }) do
    names[at] = feed_id .. ':' .. name
  end
  feed = redis.call('HMGET', feeds, unpack(names))
  if feed[1] ~= key_id or feed[2] or feed[3] and tonumber(now_ms) >= tonumber(feed[3]) then
    return { 'feed_over' }
  end
  paid = cjson.decode(feed[7] or '[]')
  for _, one in ipairs(paid) do
    known = one.content == content and one or known
  end
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

if price > 0 then
  local first = redis.call('HGET', debits, debit_id)
  if first == 'void' then
    return { 'reversed' }
  elseif first then
    local used = redis.call('MGET', minute, day)
    local minute_used, day_used = tonumber(used[1] or 0), tonumber(used[2] or 0)
    return { 'admitted', price, tonumber(first), tier, minute_used, day_used }
  end
end

if known then
  price, rows = 0, 0
end

local repeated, conflicts = '', false
if fingerprint ~= '' then
  local kept = redis.call('HMGET', record, 'fingerprint', 'edition', 'repeats')
  conflicts = kept[1] and kept[1] ~= fingerprint
  if kept[1] == fingerprint and tonumber(kept[3]) < REPEATS_MAX then
    repeated = kept[2]
  end
end

-- Before this call. Most calls are counted at once, without a look before; where a window is full, that is taken back.
local minute_used, day_used
local counts_at_once = mode ~= 'peek' and not lease
if counts_at_once then
  minute_used, day_used = redis.call('INCR', minute) - 1, redis.call('INCR', day) - 1
else
  local used = redis.call('MGET', minute, day)
  minute_used, day_used = tonumber(used[1] or 0), tonumber(used[2] or 0)
end
if minute_used >= minute_limit or day_used >= day_limit then
  if counts_at_once then
    -- A counter that is new has no expiry yet.
    redis.call(minute_used == 0 and 'DEL' or 'DECR', minute)
    redis.call(day_used == 0 and 'DEL' or 'DECR', day)
  end
  count('requests', 1)
  count('errors', 1)
  return { 'rate_limited', 0, balance, tier, minute_used, day_used }
end

-- The month that counts, and the credits charged in it. It never goes back.
local function spent(latest_month)
  if latest_month and string.sub(latest_month, 1, 7) >= month then
    return string.sub(latest_month, 1, 7), tonumber(string.sub(latest_month, 9))
  end
  return month, 0
end

local feed_month, feed_credits = month, 0
if feed then
  feed_month, feed_credits = spent(feed[5])
end
local used_credits, is_over = 0, false
if price > 0 then
  month, used_credits = spent(latest)
  is_over = limit and used_credits + price > limit
end

if mode == 'peek' and (price == 0 or repeated ~= '' or not is_over and balance >= price) then
  local pinned = lease and pin ~= account and redis.call('GET', pin) or nil
  return { 'admitted', 0, balance, tier, minute_used, day_used, repeated, pinned }
end

local covered
if lease then
  covered = tonumber(redis.call('HGET', lease, 'left') or 0) >= bytes
  if follows and not covered then
    redis.call('DEL', pin)
    return { 'lease_over', 0, balance, tier, minute_used, day_used }
  end
  if not covered then
    repeated = ''
  end
end

local function hold_edition(for_ms)
  if pin ~= account and not follows then
    redis.call('SET', pin, edition, 'PX', for_ms)
  end
end

if not counts_at_once then
  redis.call('INCR', minute)
  redis.call('INCR', day)
end
minute_used, day_used = minute_used + 1, day_used + 1
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

if lease and not covered and max_credits and price > max_credits then
  count('errors', 1)
  return { 'max_credits_exceeded', 0, balance, tier, minute_used, day_used }
end
if mode ~= 'failed' and conflicts then
  count('errors', 1)
  return { 'idempotency_conflict', 0, balance, tier, minute_used, day_used }
end
if covered and not looks then
  price, rows = 0, 0
  redis.call('HINCRBY', lease, 'left', -bytes)
  redis.call('HINCRBY', lease, 'uses', 1)
  hold_edition(math.max(1, redis.call('PTTL', lease)))
end
if mode ~= 'failed' and repeated ~= '' then
  redis.call('HINCRBY', record, 'repeats', 1)
  count('rows', rows)
  return { 'admitted', 0, balance, tier, minute_used, day_used, repeated, covered and 1 or nil }
end

local today, sent_bytes = string.format('%.0f', math.floor(now_ms / 86400000)), 0
if feed and mode ~= 'failed' then
  local day_sent, sent = string.match(feed[6] or '', '^(%d+)=(%d+)$')
  sent_bytes = day_sent == today and tonumber(sent) or 0
  local refusal = sent_bytes + bytes > allowance and 'feed_bytes_reached'
    or (price > 0 and (follows or feed_credits + price > tonumber(feed[4])) and 'feed_unpaid')
  if refusal then
    count('errors', 1)
    return { refusal, 0, balance, tier, minute_used, day_used }
  end
end

if price > 0 and is_over then
  count('errors', 1)
  return { 'key_limit_reached', 0, balance, tier, minute_used, day_used, limit, used_credits }
end

if balance < price then
  count('errors', 1)
  return { 'insufficient_credits', 0, balance, tier, minute_used, day_used }
end

if price > 0 then
  balance = balance - price
  redis.call('HSET', account, 'balance', balance, 'spent', fields[5] + price)
  redis.call('HSET', keys, counted .. ':month', month .. '=' .. string.format('%.0f', used_credits + price))
  if indicators == '' then
    redis.call('XADD', ledger, '*', 'at_ms', now_ms, 'kind', 'debit', 'delta', -price, 'balance', balance,
      'request', request_id, 'route', route, 'key', key_id, 'rows', rows)
  else
    redis.call('XADD', ledger, '*', 'at_ms', now_ms, 'kind', 'debit', 'delta', -price, 'balance', balance,
      'request', request_id, 'route', route, 'key', key_id, 'rows', rows, 'indicators', indicators)
  end
  if redis.call('HSET', debits, debit_id, balance) == 1 and redis.call('HLEN', debits) == 1 then
    redis.call('PEXPIRE', debits, DEBITS_KEPT_MS)
  end
  if fingerprint ~= '' then
    redis.call('HSET', record, 'fingerprint', fingerprint, 'edition', edition, 'debit', debit_id, 'repeats', 0)
    redis.call('PEXPIRE', record, RECORD_KEPT_MS)
  end
  if lease then
    redis.call('HSET', lease, 'left', allowance - bytes, 'debit', debit_id, 'uses', 0)
    redis.call('PEXPIRE', lease, LEASE_KEPT_MS)
    hold_edition(LEASE_KEPT_MS)
  end
  if feed then
    table.insert(paid, 1, { content = content, debit = debit_id })
    paid[PAID_MAX + 1] = nil
    redis.call('HSET', feeds, feed_id .. ':paid', cjson.encode(paid), feed_id .. ':month',
      feed_month .. '=' .. string.format('%.0f', feed_credits + price))
  end
  count('credits', price)
end
if feed and mode ~= 'failed' and content ~= '' then
  if known and not known.shared then
    known.shared = true
    redis.call('HSET', feeds, feed_id .. ':paid', cjson.encode(paid))
  end
  redis.call('HINCRBY', feeds, feed_id .. ':fetches', 1)
  redis.call('HSET', feeds, feed_id .. ':fetched_at_ms', now_ms, feed_id .. ':edition', edition,
    feed_id .. ':day', today .. '=' .. string.format('%.0f', sent_bytes + bytes))
end
count('rows', rows)
if mode == 'failed' then
  count('errors', 1)
end
local is_free = covered or known
return { 'admitted', price, balance, tier, minute_used, day_used, is_free and '' or nil, is_free and 1 or nil }
