-- Lets one process at a time watch for conditions that cause operator alerts.
--
-- KEYS
--   1 watcher  string: id of the process that watches; expires
--   2 turns    counter of all looks
-- ARGV
--   1 process  id
--   2 kept_ms  how long the process watches without another look
-- Returns the number of this look, or 0 when another process watches

local watcher, turns = unpack(KEYS)

local current = redis.call('GET', watcher)
if current and current ~= ARGV[1] then
  return 0
end
redis.call('SET', watcher, ARGV[1], 'PX', ARGV[2])
return redis.call('INCR', turns)
