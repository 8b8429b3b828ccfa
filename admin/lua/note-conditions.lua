-- Compares the conditions found by a look with those that operators were told of, and writes an alert for what differs.
--
-- KEYS
--   1 conditions  hash: condition -> JSON of it as it began
--   2 outbox      hash: operator.alert:<alert id> -> JSON of an event that is to be told
--   3 noted       string: number of the last look that was noted
-- ARGV
--   1 look      number; one that began before the last noted look is left out, because it saw an earlier state
--   2 id        of the alert
--   3 at        ISO 8601
--   4 at_ms
--   5 complete  kinds of which every condition was found, separated by spaces; others may have begun, but not ended
--   6..         condition and its JSON, alternating; the kind of a condition is what comes before its first colon
-- Returns the number of conditions that began or ended

local conditions, outbox, noted = unpack(KEYS)
local look, id, at = tonumber(ARGV[1]), ARGV[2], ARGV[3]

if look <= tonumber(redis.call('GET', noted) or 0) then
  return 0
end
redis.call('SET', noted, look)

local complete = {}
for kind in string.gmatch(ARGV[5], '%S+') do
  complete[kind] = true
end

local found, begun, ended = {}, {}, {}
for i = 6, #ARGV, 2 do
  local name, json = ARGV[i], ARGV[i + 1]
  found[name] = true
  if redis.call('HSETNX', conditions, name, json) == 1 then
    table.insert(begun, json)
  end
end

local known = redis.call('HGETALL', conditions)
for i = 1, #known, 2 do
  if not found[known[i]] and complete[string.match(known[i], '^[^:]*')] then
    redis.call('HDEL', conditions, known[i])
    table.insert(ended, known[i + 1])
  end
end

if #begun + #ended > 0 then
  local alert = string.format('{"id":"%s","at":"%s","isTest":false,"begun":[', id, at)
    .. table.concat(begun, ',') .. '],"ended":[' .. table.concat(ended, ',') .. ']}'
  redis.call('HSET', outbox, 'operator.alert:' .. id,
    '{"type":"operator.alert","at_ms":' .. ARGV[4] .. ',"data":' .. alert .. '}')
end
return #begun + #ended
