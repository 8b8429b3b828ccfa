-- Opens a privacy request unless the account has an open one of that kind.
--
-- KEYS, all with the hash tag of requests
--   1 request  hash
--   2 all      zset of all request ids by creation
--   3 open     zset of open requests
--   4 of       zset of the account's requests
--   5 current  string: the account's open request of this kind
-- ARGV
--   1 now_ms
--   2 request_id
--   3 account_id
--   4 kind  export | erasure
-- Returns { 'opened' | 'exists', id of the open request }

local request, all, open, of, current = unpack(KEYS)
local now_ms, request_id, account_id, kind = unpack(ARGV)

local existing = redis.call('GET', current)
if existing then
  return { existing == request_id and 'opened' or 'exists', existing }
end
redis.call('HSET', request, 'account_id', account_id, 'kind', kind, 'status', 'pending', 'created_at_ms', now_ms)
redis.call('ZADD', all, now_ms, request_id)
redis.call('ZADD', open, now_ms, request_id)
redis.call('ZADD', of, now_ms, request_id)
redis.call('SET', current, request_id)
return { 'opened', request_id }
