-- Moves the ownership to the member to whom the owner offered it. Mails to the account go to the new owner from now on;
-- invitations of the former owner end.
--
-- KEYS, all with the account's hash tag
--   1 account      hash
--   2 members      hash
--   3 invitations  hash
-- ARGV
--   1 now_ms
--   2 person_id
--   3 email   of that person
--   4 former  role of the former owner from now on
-- Returns 'done' (also if the person is the owner already) | 'closed' | 'invalid'

local account, members, invitations = unpack(KEYS)
local now_ms, person_id, email, former = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]

local role = redis.call('HGET', members, person_id .. ':role')
if redis.call('HGET', account, 'state') ~= 'active' then
  return 'closed'
elseif role == 'owner' then
  return 'done'
end
local offer = redis.call('HMGET', members, 'offer:to', 'offer:by', 'offer:until_ms')
local to, by, until_ms = offer[1], offer[2], tonumber(offer[3])
if not role or to ~= person_id or until_ms <= now_ms or redis.call('HGET', members, by .. ':role') ~= 'owner' then
  return 'invalid'
end
redis.call('HDEL', members, 'offer:to', 'offer:by', 'offer:until_ms')
redis.call('HSET', members, by .. ':role', former, person_id .. ':role', 'owner')
redis.call('DEL', invitations)
redis.call('HSET', account, 'email', email)
return 'done'
