-- Sets and removes fields of one indicator's override; leaves the others.
--
-- KEYS
--   1 overrides  hash: indicator id -> JSON
-- ARGV
--   1 id
--   2 changes  JSON: fields to set
--   3 dropped  JSON: names of fields to remove
-- Returns the override's JSON before; '' when there was none.

local overrides = KEYS[1]
local id, changes, dropped = ARGV[1], cjson.decode(ARGV[2]), cjson.decode(ARGV[3])

local before = redis.call('HGET', overrides, id)
local fields = before and cjson.decode(before) or {}
for field, value in pairs(changes) do
  fields[field] = value
end
for _, field in ipairs(dropped) do
  fields[field] = nil
end
if next(fields) == nil then
  redis.call('HDEL', overrides, id)
else
  redis.call('HSET', overrides, id, cjson.encode(fields))
end
return before or ''
