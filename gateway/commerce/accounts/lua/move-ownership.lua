-- Moves the ownership of an account from its owner to another member. Mails to the account go to the new owner from now
-- on; invitations of the former owner end.
--
-- KEYS, all with the account's hash tag
--   1 account      hash
--   2 members      hash
--   3 invitations  hash
--   4 outbox       hash: <type>:<id> -> JSON of an event that is to be told
-- ARGV
--   1 to      person
--   2 email   of that person
--   3 by      person who moves it
--   4 former  role of the former owner from now on
--   5 now_ms
-- Returns 'done' (also if it has moved there already) | 'closed' | 'not_owner' | 'not_member' | 'is_owner'

local account, members, invitations, outbox = unpack(KEYS)
local to, email, by, former, now_ms = unpack(ARGV)

local role = redis.call('HGET', members, to .. ':role')
if redis.call('HGET', account, 'state') ~= 'active' then
  return 'closed'
elseif to == by then
  return 'is_owner'
elseif role == 'owner' then
  return 'done'
elseif redis.call('HGET', members, by .. ':role') ~= 'owner' then
  return 'not_owner'
elseif not role then
  return 'not_member'
end
redis.call('HSET', members, by .. ':role', former, to .. ':role', 'owner')
redis.call('DEL', invitations)
redis.call('HSET', account, 'email', email)
redis.call('HSET', outbox, 'ownership.moved:' .. now_ms,
  cjson.encode({ type = 'ownership.moved', at_ms = tonumber(now_ms), by = by, data = { from = by, to = to } }))
return 'done'
