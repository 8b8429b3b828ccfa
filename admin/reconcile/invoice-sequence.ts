/** Checks the register of invoices: numbers without gaps, each listed with one order, and no invoice that waits for long. */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';

/** The sweep issues what waits for ten minutes. */
const WAITING_MS = 3_600_000;
const MAX_NAMED = 5;

const numberOf = (year: string, index: number): string => `${year}-${String(index).padStart(6, '0')}`;

/** A sentence for each kind of fault; none when the register is sound. */
export async function findInvoiceProblems(redis: RedisClient, now_ms: number): Promise<string[]> {
  // What is issued meanwhile is in all that is read after the last numbers, and in nothing read before.
  const before = await listedNumbers(redis);
  const last = await redis.hgetall(redisKeys.invoicesLast);
  const expected = Object.entries(last).flatMap(([year, count]) =>
    Array.from({ length: Number(count) }, (_, index) => numberOf(year, index + 1)),
  );
  const documents = await Promise.all(Object.keys(last).map((year) => redis.hkeys(redisKeys.invoices(year))));
  const stored = new Set(documents.flat());
  const after = await listedNumbers(redis);
  const listed = new Set(after);
  const counted = new Set(expected);
  const waiting = await redis.zcount(redisKeys.invoicesDue, '-inf', now_ms - WAITING_MS);
  return [
    ...fault(
      'missing',
      expected.filter((number) => !stored.has(number)),
    ),
    ...fault(
      'not listed with an order',
      expected.filter((number) => !listed.has(number)),
    ),
    ...fault(
      'beyond the last number',
      before.filter((number) => !counted.has(number)),
    ),
    ...fault('listed twice', repeated(after)),
    ...(waiting > 0 ? [`changes of orders that wait for their invoices: ${waiting}`] : []),
  ];
}

const listedNumbers = async (redis: RedisClient): Promise<string[]> =>
  (await redis.hvals(redisKeys.invoicesOfOrders)).flatMap((numbers) => numbers.split(' '));

const fault = (what: string, numbers: readonly string[]): string[] =>
  numbers.length === 0
    ? []
    : [`${numbers.length} invoices ${what}: ${numbers.slice(0, MAX_NAMED).join(', ')}`];

function repeated(numbers: readonly string[]): string[] {
  const seen = new Set<string>();
  return numbers.filter((number) => seen.size === seen.add(number).size);
}
