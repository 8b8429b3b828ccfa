-- Sets the billing details of an account that is not closed. Idempotent.
--
-- KEYS, all with the account's hash tag
--   1 account  hash
--   2 billing  hash
-- ARGV
--   1 name
--   2 address       lines separated by line feeds
--   3 country       ISO 3166, two letters
--   4 country_name
--   5 vat_id        '' without one
-- Returns { 'set' } | { 'unknown' } | { 'closed' }

local account, billing = unpack(KEYS)
local name, address, country, country_name, vat_id = unpack(ARGV)

local state = redis.call('HGET', account, 'state')
if not state then
  return { 'unknown' }
elseif state == 'closed' then
  return { 'closed' }
end
redis.call('HSET', billing, 'name', name, 'address', address, 'country', country, 'country_name', country_name,
  'vat_id', vat_id)
return { 'set' }
