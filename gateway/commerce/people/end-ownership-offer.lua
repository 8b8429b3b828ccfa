-- Ends an offer of the ownership: the owner withdraws it, or the other declines it.
--
-- KEYS
--   1 members  hash
-- ARGV
--   1 by  person who ends it
-- Returns 'done' (also if there is none) | 'not_owner'

local members = KEYS[1]
local by = ARGV[1]

local to = redis.call('HGET', members, 'offer:to')
if to and to ~= by and redis.call('HGET', members, by .. ':role') ~= 'owner' then
  return 'not_owner'
end
redis.call('HDEL', members, 'offer:to', 'offer:by', 'offer:until_ms')
return 'done'
