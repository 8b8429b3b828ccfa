-- Changes the status of a privacy request: pending -> ready, pending | ready -> done | failed. An export becomes done
-- only from ready, an erasure only with the record of what it removed. Writes an event when an export is ready.
--
-- KEYS, all with the hash tag of requests
--   1 request  hash
--   2 open     zset of open requests
--   3 current  string: the account's open request of this kind
--   4 outbox   hash: <type>:<id> -> JSON of an event that is to be told
-- ARGV
--   1 now_ms
--   2 request_id
--   3 to    ready | done | failed
--   4 note  what was prepared (ready), or why it was closed
--   5 by    author
--   6 removed  JSON: what an erasure removed; '' otherwise
-- Returns { 'changed' | 'unchanged' | 'refused', status } | { 'unknown' } | { 'not_carried_out' }

local request, open, current, outbox = unpack(KEYS)
local now_ms, request_id, to, note, by, removed = unpack(ARGV)

local facts = redis.call('HMGET', request, 'status', 'kind')
local status, kind = facts[1], facts[2]
if not status then
  return { 'unknown' }
elseif status == to then
  if removed ~= '' then
    redis.call('HSETNX', request, 'removed', removed)
  end
  return { 'unchanged', status }
elseif status == 'done' or status == 'failed' then
  return { 'refused', status }
elseif to == 'done' and ((kind == 'erasure' and removed == '') or (kind == 'export' and status ~= 'ready')) then
  return { 'not_carried_out' }
end

redis.call('HDEL', request, 'progress')
if to == 'ready' then
  redis.call('HSET', request, 'status', to, 'plan', note, 'ready_at_ms', now_ms)
  if kind == 'export' then
    local data = { account_id = redis.call('HGET', request, 'account_id'), request_id = request_id }
    redis.call('HSET', outbox, 'export.ready:' .. request_id,
      cjson.encode({ type = 'export.ready', at_ms = tonumber(now_ms), data = data }))
  end
else
  redis.call('HSET', request, 'status', to, 'note', note, 'by', by, 'closed_at_ms', now_ms)
  if removed ~= '' then
    redis.call('HSET', request, 'removed', removed)
  end
  redis.call('ZREM', open, request_id)
  if redis.call('GET', current) == request_id then
    redis.call('DEL', current)
  end
end
return { 'changed', to }
