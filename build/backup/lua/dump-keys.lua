-- Keys of one hash tag as they stand at one moment: for each its serialised value (false when there is none) and the
-- milliseconds it has left (-1 when it stays).
local found = {}
for index, key in ipairs(KEYS) do
  found[index] = { redis.call('DUMP', key), redis.call('PTTL', key) }
end
return found
