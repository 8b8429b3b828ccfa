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
-- A counter that is behind the documents, as after a restore, is raised to the highest number among them.

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
local count = tonumber(redis.call('HGET', last, year) or 0)
if redis.call('HLEN', documents) > count then
  for _, known in ipairs(redis.call('HKEYS', documents)) do
    count = math.max(count, tonumber(string.sub(known, 6)))
  end
end
local number = year .. '-' .. string.format('%06d', count + 1)
redis.call('HSET', documents, number, document)
redis.call('HSET', last, year, count + 1)
numbers[#numbers + 1] = number
redis.call('HSET', of_order, order_id, table.concat(numbers, ' '))
return { 'issued', number }
