/** Lost requests, lost replies and a lost Redis: no call is charged twice, or charged without an answer. */
import { describe, expect, it, vi } from 'vitest';
import { connectRedis, type RedisClient, whenReady } from '../../../../data/runtime/redis.ts';
import { MeteringUnavailable, type Verdict } from '../../../../gateway/api/metering/metering.ts';
import type { RedisMetering } from '../../../../gateway/api/metering/redis-metering.ts';
import { keysMatching, silentLog, useRedis } from '../../../redis.ts';
import {
  admissionOf,
  type Books,
  booksOf,
  type Customer,
  createWorld,
  UNLIMITED,
  type World,
} from './harness.ts';
import { type FaultyProxy, startFaultyProxy } from './proxy.ts';

const server = await useRedis({ persistent: true });
// Loads the scripts: a cut connection must lose their replies, not a NOSCRIPT error.
const { metering, customer } = createWorld(await server.connect(), UNLIMITED);
const verdict = await (await customer()).call({ price: 1 });
if (verdict.kind === 'admitted' && verdict.debit) await metering.refund(verdict.debit);
const WITHIN = { timeout: 60_000, interval: 1 };

/** A customer, and a metering that reaches Redis through a proxy of its own: tests run concurrently. */
interface Setup extends AsyncDisposable {
  proxy: FaultyProxy;
  /** Connected to Redis directly. */
  world: World;
  redis: RedisClient;
  metering: RedisMetering;
  customer: Customer;
  books(): Promise<Books>;
  admit(price?: number): Promise<Verdict>;
  /** Removes the fault once a connection has been cut, as a network that recovers does. */
  recoverAfterCut(): Promise<void>;
  /** Removes the fault and waits for the connection. */
  recover(): Promise<void>;
}

async function setUp(): Promise<Setup> {
  const proxy = await startFaultyProxy(server.url.replace('unix://', ''));
  const world = createWorld(await server.connect(), UNLIMITED);
  const customer = await world.customer({ credits: 1000 });
  const redis = connectRedis({ REDIS_URL: proxy.url, REDIS_CLUSTER: false }, silentLog, 'metering');
  await whenReady(redis, 5000);
  const metering = world.gateway({ redis });
  return {
    proxy,
    world,
    redis,
    metering,
    customer,
    books: () => booksOf(world, customer.account_id),
    admit: (price = 1) => metering.admit(admissionOf(customer.apiKey, { price })),
    async recoverAfterCut() {
      await vi.waitFor(() => expect(proxy.cuts).toBeGreaterThan(0), WITHIN);
      proxy.fault = 'none';
    },
    async recover() {
      proxy.fault = 'none';
      await vi.waitFor(async () => expect(await whenReady(redis, 5000)).toBe(true), WITHIN);
    },
    async [Symbol.asyncDispose]() {
      redis.disconnect();
      await proxy.stop();
    },
  };
}

describe.concurrent('after a lost reply', () => {
  it('a retry serves the client and charges once', async () => {
    await using setup = await setUp();
    const { proxy, admit, books, recoverAfterCut } = setup;
    await admit();
    proxy.fault = 'cut_reply';
    const verdict = admit(5);
    await recoverAfterCut();
    expect(await verdict).toMatchObject({ kind: 'admitted', charged: 5, balance: 994 });
    expect(await books()).toMatchObject({ balance: 994, spent: 6, debits: 2, ledger: 994 });
  });

  it('each of many calls in flight is served and charged once', async () => {
    await using setup = await setUp();
    const { proxy, admit, books, recoverAfterCut } = setup;
    proxy.fault = 'cut_reply';
    const verdicts = Array.from({ length: 200 }, () => admit(1));
    await recoverAfterCut();
    const kinds = (await Promise.all(verdicts)).map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(['admitted']));
    expect(await books()).toMatchObject({ balance: 800, spent: 200, debits: 200, ledger: 800 });
  });

  it('and a lost retry the call fails and its debit is reversed', async () => {
    await using setup = await setUp();
    const { proxy, world, metering, customer, admit, books, recover } = setup;
    proxy.fault = 'cut_reply';
    await expect(admit(5)).rejects.toThrow(MeteringUnavailable);
    // From here on the reversal cannot arrive.
    proxy.fault = 'cut_request';
    expect(await books()).toMatchObject({ balance: 995, debits: 1 });
    await recover();
    await metering.flush();
    expect(await books()).toMatchObject({ balance: 1000, spent: 0, granted: 1000, ledger: 1000 });
    const [entry] = await world.store.ledger(customer.account_id);
    expect(entry).toMatchObject({ kind: 'refund', delta: 5, balance: 1000 });
    expect((await world.metering.usage(customer.account_id, 1)).totals.credits).toBe(0);
  });

  it('exactly the uncertain debits are reversed after Redis has forgotten their ids', async () => {
    await using setup = await setUp();
    const { proxy, world, redis, customer, books, recover } = setup;
    const clock = { later_ms: 0 };
    const metering = world.gateway({ redis, now: () => Date.now() + clock.later_ms });
    const pay = (request_id: string, price: number) =>
      metering.admit(admissionOf(customer.apiKey, { request_id, price }));
    await pay('served', 5);
    proxy.fault = 'cut_reply';
    const lost = ['same', 'same', 'other'].map((request_id) => pay(request_id, 5));
    for (const call of lost) await expect(call).rejects.toThrow(MeteringUnavailable);
    // A call that never reached Redis must not be refunded.
    proxy.fault = 'cut_request';
    await expect(pay('never', 5)).rejects.toThrow(MeteringUnavailable);
    expect(await books()).toMatchObject({ balance: 980, debits: 4 });
    for (const name of await keysMatching(world.redis, `{a:${customer.account_id}}:debits:*`))
      await world.redis.del(name);
    clock.later_ms = 600_000;
    await recover();
    await metering.flush();
    await metering.flush();
    expect(await books()).toMatchObject({ balance: 995, spent: 5, ledger: 995, entries: 8 });
  });

  it('a debit is reversed once, however often the reversal is retried', async () => {
    await using setup = await setUp();
    const { proxy, metering, admit, books, recover } = setup;
    proxy.fault = 'cut_reply';
    await expect(admit(5)).rejects.toThrow(MeteringUnavailable);
    await recover();
    // The reversal arrives, and its reply is lost too.
    proxy.fault = 'cut_reply';
    await metering.flush();
    expect(await books()).toMatchObject({ balance: 1000 });
    await recover();
    await metering.flush();
    await metering.flush();
    expect(await books()).toMatchObject({ balance: 1000, spent: 0, ledger: 1000 });
  });
});

describe.concurrent('a lost request', () => {
  it('is sent again and charged once', async () => {
    await using setup = await setUp();
    const { proxy, admit, books, recoverAfterCut } = setup;
    proxy.fault = 'cut_request';
    const verdict = admit(5);
    await recoverAfterCut();
    expect(await verdict).toMatchObject({ kind: 'admitted', balance: 995 });
    expect(await books()).toMatchObject({ balance: 995, debits: 1 });
  });

  it('leaves nothing to reverse when its retry is lost too', async () => {
    await using setup = await setUp();
    const { proxy, metering, admit, books, recover } = setup;
    proxy.fault = 'cut_request';
    await expect(admit(5)).rejects.toThrow(MeteringUnavailable);
    await recover();
    await metering.flush();
    expect(await books()).toMatchObject({ balance: 1000, debits: 0, entries: 1 });
  });

  it('charges nothing when it arrives after its reversal', async () => {
    await using setup = await setUp();
    const { proxy, world, redis, customer, books, recover } = setup;
    const debitId = () => `delayed ${customer.account_id}`;
    const late = world.gateway({ debitId });
    const reversing = world.gateway({ redis, debitId });
    proxy.fault = 'cut_request';
    const admission = admissionOf(customer.apiKey, { price: 5 });
    await expect(reversing.admit(admission)).rejects.toThrow(MeteringUnavailable);
    await recover();
    await reversing.flush();
    await expect(late.admit(admission)).rejects.toThrow(MeteringUnavailable);
    expect(await books()).toMatchObject({ balance: 1000, debits: 0 });
  });
});

describe.concurrent('a Redis that does not answer', () => {
  it('costs a keyed call bounded time and no credits', async () => {
    await using setup = await setUp();
    const { proxy, redis, metering, admit, books } = setup;
    await admit(1);
    proxy.fault = 'silent';
    await expect(admit(5)).rejects.toThrow(MeteringUnavailable);
    proxy.fault = 'cut_request';
    expect(await books()).toMatchObject({ balance: 994 });
    proxy.fault = 'none';
    redis.disconnect(true);
    await vi.waitFor(async () => {
      await metering.flush();
      expect(await books()).toMatchObject({ balance: 999 });
    }, WITHIN);
    expect(await books()).toMatchObject({ balance: 999, ledger: 999 });
  });

  it('lets anonymous calls through uncounted, and the next ones without a wait', async () => {
    await using setup = await setUp();
    const { proxy, metering } = setup;
    proxy.fault = 'silent';
    expect(await metering.admitAddress('192.0.2.1')).toEqual({ kind: 'admitted' });
    expect(metering.admitAddress('192.0.2.1')).toEqual({ kind: 'admitted' });
    expect(metering.uncounted).toBe(2);
  });
});

it('without Redis keyed calls fail at once and anonymous ones go on; all recover without a restart', async () => {
  await using setup = await setUp();
  const { redis, metering, customer, admit } = setup;
  await admit();
  await server.kill();
  await expect.poll(() => metering.fault(), { interval: 1 }).not.toBeNull();
  await expect(admit()).rejects.toThrow(MeteringUnavailable);
  await expect(metering.resolveKey(`Bearer ${customer.key}`)).rejects.toThrow(MeteringUnavailable);
  expect(await metering.admitAddress('192.0.2.1')).toEqual({ kind: 'admitted' });
  await server.restart();
  expect(await whenReady(redis, 10_000)).toBe(true);
  expect(await metering.fault()).toBeNull();
  expect(await admit()).toMatchObject({ kind: 'admitted', balance: 998 });
  expect(await metering.resolveKey(`Bearer ${customer.key}`)).toEqual(customer.apiKey);
  const world = createWorld(await server.connect(), UNLIMITED);
  expect(await booksOf(world, customer.account_id)).toMatchObject({ balance: 998, ledger: 998, debits: 2 });
});
