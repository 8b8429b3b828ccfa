-- Ends a feed link. Repeatable.
--
-- KEYS
--   1 feeds    hash, with the account's hash tag: <feed id>:<field>; see redis-keys.ts
-- ARGV
--   1 now_ms
--   2 feed_id
--   3 key_id   whose link it must be; '' for any key of the account
-- Returns the digest of its secret, or nil where there is no such link

local feeds, now_ms, feed_id, key_id = KEYS[1], ARGV[1], ARGV[2], ARGV[3]

local feed = redis.call('HMGET', feeds, feed_id .. ':key', feed_id .. ':digest')
if not feed[1] or key_id ~= '' and feed[1] ~= key_id then
  return nil
end
redis.call('HSETNX', feeds, feed_id .. ':revoked_at_ms', now_ms)
return feed[2]
