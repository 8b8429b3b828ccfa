-- Changes some fields of what operators say of one indicator, and leaves the others.
--
-- KEYS
--   1 overrides  hash: indicator id -> JSON
-- ARGV
--   1 id
--   2 changes  JSON: fields that are said from now on
--   3 dropped  JSON: names of fields that are no longer said
-- Returns the JSON before; '' when nothing had been said.

local overrides = KEYS[1]
local id, changes, dropped = ARGV[1], cjson.decode(ARGV[2]), cjson.decode(ARGV[3])

local before = redis.call('HGET', overrides, id)
local said = before and cjson.decode(before) or {}
for field, value in pairs(changes) do
  said[field] = value
end
for _, field in ipairs(dropped) do
  said[field] = nil
end
if next(said) == nil then
  redis.call('HDEL', overrides, id)
else
  redis.call('HSET', overrides, id, cjson.encode(said))
end
return before or ''
