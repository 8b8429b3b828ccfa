-- Gives an operator a role, or removes the operator. The last owner keeps that role.
--
-- KEYS
--   1 roles  hash: digest of an operator's address -> role
-- ARGV
--   1 digest
--   2 role  '' removes the operator
-- Returns 'changed' | 'unchanged' | 'last-owner' (nothing changed)

local roles = KEYS[1]
local digest, role = ARGV[1], ARGV[2]

local current = redis.call('HGET', roles, digest) or ''
if current == role then
  return 'unchanged'
end
if current == 'owner' then
  local owners = 0
  for _, held in ipairs(redis.call('HVALS', roles)) do
    if held == 'owner' then
      owners = owners + 1
    end
  end
  if owners == 1 then
    return 'last-owner'
  end
end
if role == '' then
  redis.call('HDEL', roles, digest)
else
  redis.call('HSET', roles, digest, role)
end
return 'changed'
