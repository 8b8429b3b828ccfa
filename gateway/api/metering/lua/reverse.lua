-- Reverses a debit whose answer the client never got. A debit that arrives after its reversal charges nothing.
-- Repeatable.
--
-- A debit stays when others were served for it: a repeat under its Idempotency-Key, a call under the lease that it began, or
-- another fetch of the content that a feed link paid. Otherwise the key is free again, the lease ends, and the content is unpaid.
--
-- KEYS, all with the account's hash tag
--   1 account  hash: balance, spent
--   2 ledger   stream
--   3 usage    hash of the debit's UTC day
--   4 debits   hash of the debit's UTC minute
--   5 record   hash of the call's Idempotency-Key: debit (its id), repeats; the account where none was sent
--   6 lease    hash of the file that was asked for: debit (its id), uses; the account for other calls
--   7 keys     hash: <key id>: state, month, counted_with; see admit.lua
--   8 feeds    hash: <feed id>: paid, month; see admit.lua
-- ARGV
--   1 now_ms
--   2 debit_id
--   3 price
--   4 route
--   5 request_id
--   6 key_id
--   7 charged  '1' when the debit was found in the ledger after its entry in `debits` expired
--   8 debited_ms  when the debit was made
--   9 month    of the debit, UTC: '2026-11'
--  10 indicators  for the ledger, or ''
--  11 feed_id  the feed link that paid, or ''
-- Returns 1 when credits were refunded, otherwise 0.

local account, ledger, usage, debits, record, lease, keys, feeds = unpack(KEYS)
local now_ms, debit_id, price, route, request_id, key_id, charged, debited_ms, month, indicators, feed_id =
  ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6], ARGV[7] == '1', ARGV[8], ARGV[9], ARGV[10], ARGV[11]

local DEBITS_KEPT_MS = 180000

-- How many were served for the debit besides its own call; nil where the hash is not of this debit.
local function served_by(hash, field)
  local kept = redis.call('HMGET', hash, 'debit', field)
  return kept[1] == debit_id and tonumber(kept[2]) or nil
end
local repeats, uses = served_by(record, 'repeats'), served_by(lease, 'uses')
if (repeats or 0) > 0 or (uses or 0) > 0 then
  return 0
end
if feed_id ~= '' then
  local paid = cjson.decode(redis.call('HGET', feeds, feed_id .. ':paid') or '[]')
  for at, one in ipairs(paid) do
    if one.debit == debit_id then
      if one.shared then
        return 0
      end
      table.remove(paid, at)
      redis.call('HSET', feeds, feed_id .. ':paid', cjson.encode(paid))
      break
    end
  end
end
if repeats then
  redis.call('DEL', record)
end
if uses then
  redis.call('DEL', lease)
end

local first = redis.call('HGET', debits, debit_id)
redis.call('HSET', debits, debit_id, 'void')
redis.call('PEXPIRE', debits, DEBITS_KEPT_MS)
if first == 'void' or not (first or charged) then
  return 0
end

local balance = redis.call('HINCRBY', account, 'balance', price)
redis.call('HINCRBY', account, 'spent', -price)
redis.call('HINCRBY', usage, route .. '|' .. key_id .. '|credits', -price)

-- A key that was replaced since took its month along.
local counted = redis.call('HGET', keys, key_id .. ':counted_with')
if not counted or redis.call('HEXISTS', keys, counted .. ':state') == 0 then
  counted = key_id
end
local function take_from(hash, field)
  local latest = redis.call('HGET', hash, field)
  if latest and string.sub(latest, 1, 7) == month then
    local left = math.max(0, string.sub(latest, 9) - price)
    redis.call('HSET', hash, field, month .. '=' .. string.format('%.0f', left))
  end
end
take_from(keys, counted .. ':month')
if feed_id ~= '' then
  take_from(feeds, feed_id .. ':month')
end

local entry = { 'at_ms', now_ms, 'kind', 'refund', 'delta', price, 'balance', balance, 'request', request_id, 'route', route,
  'key', key_id, 'reason', 'the answer could not be given', 'of_ms', debited_ms }
if indicators ~= '' then
  entry[#entry + 1] = 'indicators'
  entry[#entry + 1] = indicators
end
redis.call('XADD', ledger, '*', unpack(entry))
return 1
