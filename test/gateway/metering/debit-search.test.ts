/** Which debits of unknown fate stand charged in a ledger. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { findCharged } from '../../../gateway/metering/debit-reversals.ts';
import { startRedis, type TestRedis } from '../../redis.ts';

let server: TestRedis;
let redis: RedisClient;
beforeAll(async () => {
  server = await startRedis();
  redis = await server.connect();
});
afterAll(() => server.stop());
beforeEach(() => redis.del('ledger'));

const NOW_MS = 1_800_000_000_000;
const sought = (request_id: string, later_ms = 0, price = 5) => ({
  request_id,
  at_ms: NOW_MS + later_ms,
  price,
  key_id: 'a key',
});

/** An entry as the scripts write it, by a Redis whose clock is `apart_ms` ahead. */
async function enter(kind: 'debit' | 'refund', request: string, later_ms = 0, apart_ms = 0): Promise<void> {
  const at_ms = NOW_MS + later_ms;
  const delta = kind === 'debit' ? -5 : 5;
  await redis.xadd(
    'ledger',
    `${at_ms + apart_ms}-*`,
    ...['at_ms', at_ms, 'kind', kind, 'delta', delta, 'key', 'a key', 'request', request],
  );
}

const found = async (...debits: ReturnType<typeof sought>[]): Promise<string[]> =>
  (await findCharged(redis, 'ledger', debits)).map(({ request_id }) => request_id);

it('finds what was charged, and nothing that differs in call, moment or price', async () => {
  await enter('debit', 'a', 0, -8_000);
  await enter('debit', 'b', 1);
  expect(await found(sought('a'), sought('b'), sought('b', 1), sought('c'), sought('a', 0, 6))).toEqual([
    'a',
    'b',
  ]);
});

it('does not find again what was given back, however much later', async () => {
  await enter('debit', 'a');
  await enter('refund', 'a', 3_600_000);
  expect(await found(sought('a'))).toEqual([]);
});

it('finds equal debits as often as they stand there', async () => {
  await enter('debit', 'a');
  await enter('debit', 'a');
  expect(await found(sought('a'), sought('a'), sought('a'))).toEqual(['a', 'a']);
});

it('reads a ledger of many pages', async () => {
  const pipeline = redis.pipeline();
  for (let call = 0; call < 2_500; call++) {
    const fields = ['at_ms', NOW_MS, 'kind', 'debit', 'delta', -5, 'key', 'a key', 'request', `r${call}`];
    pipeline.xadd('ledger', `${NOW_MS}-*`, ...fields);
  }
  await pipeline.exec();
  expect(await found(sought('r0'), sought('r999'), sought('r1000'), sought('r2499'))).toHaveLength(4);
});
