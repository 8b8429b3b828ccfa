/** A client that repeats a call under one Idempotency-Key until it is answered pays once, whatever the network loses. */
import { randomInt } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { connectRedis, whenReady } from '../../../../data/runtime/redis.ts';
import { RedisMetering } from '../../../../gateway/api/metering/redis-metering.ts';
import { startLossyProxy } from '../../../faults/lossy-proxy.ts';
import { silentLog, startRedis } from '../../../redis.ts';
import { admissionOf, booksOf, createWorld, UNLIMITED } from './harness.ts';

/** At least, and as many more as it takes until some were not answered at first. */
const CALLS = 120;
const FAILURES = 3;
const AT_ONCE = 8;
const PRICE = 3;
const CREDITS = 1_000_000;
const GATEWAYS = 2;

it('over a network that cuts and delays, with retries at any gateway', async () => {
  await using stack = new AsyncDisposableStack();
  const server = await startRedis({ persistent: true });
  stack.defer(() => server.stop());
  const world = createWorld(await server.connect(), UNLIMITED);
  const { apiKey, account_id } = await world.customer({ credits: CREDITS });
  const proxy = stack.use(await startLossyProxy(server.url.replace('unix://', ''), Math.random));
  const gateways = Array.from({ length: GATEWAYS }, () => {
    const redis = connectRedis({ REDIS_URL: proxy.url, REDIS_CLUSTER: false }, silentLog, 'metering');
    stack.defer(() => redis.disconnect());
    return {
      redis,
      metering: new RedisMetering({ redis, settings: UNLIMITED, now: Date.now, log: silentLog }),
    };
  });
  for (const { redis } of gateways) await whenReady(redis, 10_000);

  let failures = 0;
  const untilAnswered = async (key: string): Promise<void> => {
    for (;;) {
      const { metering } = gateways[randomInt(GATEWAYS)] ?? {};
      const idempotency = { key, fingerprint: 'f', edition: 'e' };
      const sent = metering?.admit(admissionOf(apiKey, { price: PRICE, request_id: key, idempotency }));
      const verdict = await sent?.catch(() => null);
      if (verdict) {
        expect(verdict.kind).toBe('admitted');
        return;
      }
      failures += 1;
      // While no gateway is connected, calls fail without giving the event loop a turn to connect.
      await nextTurn();
    }
  };
  let calls = 0;
  proxy.odds = { cut: 0.05, delay: 0.01, silence: 0 };
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (calls < CALLS || failures < FAILURES) await untilAnswered(`call-${calls++}`);
    }),
  );
  proxy.odds = null;
  for (const { redis } of gateways)
    await vi.waitFor(async () => expect(await whenReady(redis, 5_000)).toBe(true));
  for (const { metering } of gateways) await metering.flush();

  const books = await booksOf(world, account_id);
  expect(books).toMatchObject({
    spent: calls * PRICE,
    balance: CREDITS - calls * PRICE,
    ledger: books.balance,
  });
});
