-- Issues the next invoice or credit note of an order: takes the next number of the year and stores the document under it,
-- in one step, so that no number is taken without a document. Idempotent: the position in the order's list names the
-- document, and a document that is there already keeps its number.
--
-- KEYS, all with the hash tag {invoices}
--   1 last       hash: year -> last number
--   2 documents  hash of the year: number -> JSON
--   3 of_order   hash: order id -> numbers of its documents, separated by spaces
-- ARGV
--   1 year
--   2 order_id
--   3 position   documents that the order has before this one
--   4 document   JSON, without its number
-- Returns { 'issued' | 'known', number } | { 'refused' } (the order has fewer documents than the position)
-- Fails without a change if the number is taken: the counter is behind the documents.

local last, documents, of_order = unpack(KEYS)
local year, order_id, position, document = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

local numbers = {}
for number in string.gmatch(redis.call('HGET', of_order, order_id) or '', '%S+') do
  numbers[#numbers + 1] = number
end
if #numbers > position then
  return { 'known', numbers[position + 1] }
elseif #numbers < position then
  return { 'refused' }
end
local next = tonumber(redis.call('HGET', last, year) or 0) + 1
local number = year .. '-' .. string.format('%06d', next)
if redis.call('HSETNX', documents, number, document) == 0 then
  return redis.error_reply('ERR invoice ' .. number .. ' exists, but the last number is ' .. (next - 1))
end
redis.call('HSET', last, year, next)
numbers[#numbers + 1] = number
redis.call('HSET', of_order, order_id, table.concat(numbers, ' '))
return { 'issued', number }
