-- Changes the status of a privacy request: pending -> ready, pending | ready -> done | failed.
--
-- KEYS, all with the hash tag of requests
--   1 request  hash
--   2 open     zset of open requests
--   3 current  string: the account's open request of this kind
-- ARGV
--   1 now_ms
--   2 request_id
--   3 to    ready | done | failed
--   4 note  what was prepared (ready), or why it was closed
--   5 by    author
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
