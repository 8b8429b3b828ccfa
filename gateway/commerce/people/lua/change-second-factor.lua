-- Changes the second factor of a user, and writes the event that tells a person of it. Repeating it is the same change.
--
-- KEYS, both with the hash tag of the person
--   1 factor  hash: secret, since_ms, last_step, last_use, recovery:<digest>
--   2 outbox  hash: <type>:<id> -> JSON of an event that is to be told; absent for operators, whom their area tells
-- ARGV
--   1 change  turned_on | codes_renewed | turned_off | code_used
--   2 use     id of this change
--   3 event   id
--   4 json    of the event; '' tells nobody
--   5 now_ms
--   6 secret  in base32 (turned_on), else ''
--   7 step    time step of the code that proved it, which is thereby used (turned_on), else ''
--   8… recovery  fields of the new recovery codes, or of the one that is used
-- Returns 'changed' | 'refused': it is on already, or off; or there is no such code

local factor, outbox = unpack(KEYS)
local change, use, event, json, now_ms, secret, step = unpack(ARGV)

local function add_codes()
  for i = 8, #ARGV do
    redis.call('HSET', factor, ARGV[i], '1')
  end
end

local facts = redis.call('HMGET', factor, 'secret', 'last_use')
if facts[2] == use or (outbox and redis.call('HEXISTS', outbox, event) == 1) then
  return 'changed'
elseif (change == 'turned_on') == (facts[1] ~= false) then
  return 'refused'
end
if change == 'turned_on' then
  redis.call('HSET', factor, 'secret', secret, 'since_ms', now_ms, 'last_step', step, 'last_use', use)
  add_codes()
elseif change == 'turned_off' then
  redis.call('DEL', factor)
elseif change == 'codes_renewed' then
  for _, field in ipairs(redis.call('HKEYS', factor)) do
    if string.sub(field, 1, 9) == 'recovery:' then
      redis.call('HDEL', factor, field)
    end
  end
  add_codes()
elseif redis.call('HDEL', factor, ARGV[8]) == 1 then
  redis.call('HSET', factor, 'last_use', use)
else
  return 'refused'
end
if outbox and json ~= '' then
  redis.call('HSET', outbox, event, json)
end
return 'changed'
