-- Changes a record that exists: sets fields of it, then deletes others. Idempotent.
--
-- KEYS
--   1 record  hash
-- ARGV
--   1 field  that the record must have
--   2 value  of that field; '' for any
--   3 sets   how many fields are set
--   4.. field, value in turn; then the fields that are deleted
-- Returns 'changed' | 'kept' (the record does not have that field, or not with that value)

local record = KEYS[1]
local field, value, sets = ARGV[1], ARGV[2], tonumber(ARGV[3])

local known = redis.call('HGET', record, field)
if not known or (value ~= '' and known ~= value) then
  return 'kept'
end
for i = 4, 2 + 2 * sets, 2 do
  redis.call('HSET', record, ARGV[i], ARGV[i + 1])
end
for i = 4 + 2 * sets, #ARGV do
  redis.call('HDEL', record, ARGV[i])
end
return 'changed'
