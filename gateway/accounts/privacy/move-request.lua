-- Moves a subject-rights request on, never back: pending -> ready, pending | ready -> done | failed.
--
-- KEYS, all with the hash tag of requests
--   1 request  hash
--   2 open     zset of the open ones
--   3 current  string: the open request of its kind of its account
-- ARGV
--   1 now_ms
--   2 request_id
--   3 to    ready | done | failed
--   4 note  for done and failed: why; for ready: what was prepared
--   5 by    who did it
-- Returns { 'changed' | 'unchanged' | 'refused', status } | { 'unknown' }

local request, open, current = unpack(KEYS)
local now_ms, request_id, to, note, by = unpack(ARGV)

local status = redis.call('HGET', request, 'status')
if not status then
  return { 'unknown' }
elseif status == to then
  return { 'unchanged', status }
elseif status == 'done' or status == 'failed' then
  return { 'refused', status }
end

if to == 'ready' then
  redis.call('HSET', request, 'status', to, 'plan', note, 'ready_at_ms', now_ms)
else
  redis.call('HSET', request, 'status', to, 'note', note, 'by', by, 'closed_at_ms', now_ms)
  redis.call('ZREM', open, request_id)
  if redis.call('GET', current) == request_id then
    redis.call('DEL', current)
  end
end
return { 'changed', to }
