-- Creates an account with its owner and its initial credits.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 ledger   stream
--   3 members  hash
-- ARGV
--   1 now_ms
--   2 creation_id  repeating the same id is the same creation
--   3 email        lower case
--   4 name
--   5 verified     '1' or '0'
--   6 credits      0 or more
--   7 by           author
--   8 person_id    of the owner
-- Returns { 'created', balance } | { 'exists', balance }

local account, ledger, members = unpack(KEYS)
local now_ms, creation_id, email, name, verified, credits, by =
  ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6]), ARGV[7]
local person_id = ARGV[8]

local existing = redis.call('HMGET', account, 'creation_id', 'balance')
if existing[1] then
  return { existing[1] == creation_id and 'created' or 'exists', tonumber(existing[2]) }
end

redis.call('HSET', account, 'creation_id', creation_id, 'created_at_ms', now_ms, 'email', email, 'name', name,
  'state', 'active', 'verified', verified, 'paid', '0', 'balance', credits, 'granted', credits, 'spent', '0')
redis.call('HSET', members, person_id .. ':role', 'owner', person_id .. ':added_at_ms', now_ms)
if credits > 0 then
  redis.call('XADD', ledger, '*', 'at_ms', now_ms, 'kind', 'grant', 'delta', credits, 'balance', credits,
    'by', by, 'reason', 'first credits')
end
return { 'created', credits }
