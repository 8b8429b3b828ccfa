/** What a lost request, a lost reply and a lost Redis do to money. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connectRedis, type RedisClient, whenReady } from '../../../data/runtime/redis.ts';
import { MeteringUnavailable } from '../../../gateway/metering/metering.ts';
import { createMetering, type RedisMetering } from '../../../gateway/metering/redis-metering.ts';
import { keysMatching, silentLog, startRedis, type TestRedis } from '../../redis.ts';
import { admissionOf, booksOf, type Customer, createWorld, UNLIMITED, type World } from './harness.ts';
import { type FaultyProxy, startFaultyProxy } from './proxy.ts';

let server: TestRedis;
let proxy: FaultyProxy;
/** Talks to Redis directly: what is really there. */
let world: World;
/** Talks to Redis through the proxy. */
let metering: RedisMetering;
let redis: RedisClient;
let customer: Customer;

beforeAll(async () => {
  server = await startRedis({ persistent: true });
});
afterAll(() => server.stop());

beforeEach(async () => {
  proxy = await startFaultyProxy(server.url.replace('unix://', ''));
  world = createWorld(await server.connect(), UNLIMITED);
  customer = await world.customer({ credits: 1000 });
  redis = connectRedis({ REDIS_URL: proxy.url, REDIS_CLUSTER: false }, silentLog, 'metering');
  await whenReady(redis, 60_000);
  metering = createMetering({ redis, settings: UNLIMITED, now: () => world.clock.ms, log: silentLog });
});
afterEach(async () => {
  redis.disconnect();
  await proxy.stop();
});

const books = () => booksOf(world, customer.account_id);
const admit = (price = 1) => metering.admit(admissionOf(customer.facts, { price }));

/** Goes on as soon as the connection is cut for the first time, as a network that heals does. */
async function healAfterCut(): Promise<void> {
  await expect.poll(() => proxy.cuts, { interval: 1 }).toBeGreaterThan(0);
  proxy.fault = 'none';
}

describe('a lost reply', () => {
  it('is asked for again: the client is served and charged once', async () => {
    await admit();
    proxy.fault = 'cut_reply';
    const verdict = admit(5);
    await healAfterCut();
    expect(await verdict).toMatchObject({ kind: 'admitted', charged: 5, balance: 994 });
    expect(await books()).toMatchObject({ balance: 994, spent: 6, debits: 2, ledger: 994 });
  });

  it('of many calls in flight: each is served and charged once', async () => {
    proxy.fault = 'cut_reply';
    const verdicts = Array.from({ length: 200 }, () => admit(1));
    await healAfterCut();
    const kinds = (await Promise.all(verdicts)).map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(['admitted']));
    expect(await books()).toMatchObject({ balance: 800, spent: 200, debits: 200, ledger: 800 });
  });

  it('that stays lost: the client gets a clean refusal, and the debit is given back', async () => {
    proxy.fault = 'cut_reply';
    await expect(admit(5)).rejects.toThrow(MeteringUnavailable);
    expect(await books()).toMatchObject({ balance: 995, debits: 1 });
    proxy.fault = 'none';
    await whenReady(redis, 60_000);
    await metering.flush();
    expect(await books()).toMatchObject({ balance: 1000, spent: 0, granted: 1000, ledger: 1000 });
    const [entry] = await world.store.ledger(customer.account_id);
    expect(entry).toMatchObject({ kind: 'refund', delta: 5, balance: 1000 });
    expect((await world.metering.usage(customer.account_id, 1)).totals.credits).toBe(0);
  });

  it('is given back also when Redis has forgotten the debit meanwhile, and nothing else is', async () => {
    const clock = { later_ms: 0 };
    const now = (): number => Date.now() + clock.later_ms;
    metering = createMetering({ redis, settings: UNLIMITED, now, log: silentLog });
    const pay = (request_id: string, price: number) =>
      metering.admit(admissionOf(customer.facts, { request_id, price }));
    await pay('served', 5);
    proxy.fault = 'cut_reply';
    const lost = ['same', 'same', 'other'].map((request_id) => pay(request_id, 5));
    for (const call of lost) await expect(call).rejects.toThrow(MeteringUnavailable);
    // Never sent at all: nothing may be given back for it.
    proxy.fault = 'cut_request';
    await expect(pay('never', 5)).rejects.toThrow(MeteringUnavailable);
    expect(await books()).toMatchObject({ balance: 980, debits: 4 });
    for (const name of await keysMatching(world.redis, '*:debits:*')) await world.redis.del(name);
    clock.later_ms = 600_000;
    proxy.fault = 'none';
    await whenReady(redis, 60_000);
    await metering.flush();
    await metering.flush();
    expect(await books()).toMatchObject({ balance: 995, spent: 5, ledger: 995, entries: 8 });
  });

  it('gives back once, however often it is tried', async () => {
    proxy.fault = 'cut_reply';
    await expect(admit(5)).rejects.toThrow(MeteringUnavailable);
    proxy.fault = 'none';
    await whenReady(redis, 60_000);
    // The void arrives, and loses its reply too.
    proxy.fault = 'cut_reply';
    await metering.flush();
    expect(await books()).toMatchObject({ balance: 1000 });
    proxy.fault = 'none';
    await expect.poll(() => whenReady(redis, 60_000)).toBe(true);
    await metering.flush();
    await metering.flush();
    expect(await books()).toMatchObject({ balance: 1000, spent: 0, ledger: 1000 });
  });
});

describe('a lost request', () => {
  it('is sent again and charged once', async () => {
    proxy.fault = 'cut_request';
    const verdict = admit(5);
    await healAfterCut();
    expect(await verdict).toMatchObject({ kind: 'admitted', balance: 995 });
    expect(await books()).toMatchObject({ balance: 995, debits: 1 });
  });

  it('that stays lost leaves nothing to give back', async () => {
    proxy.fault = 'cut_request';
    await expect(admit(5)).rejects.toThrow(MeteringUnavailable);
    proxy.fault = 'none';
    await whenReady(redis, 60_000);
    await metering.flush();
    expect(await books()).toMatchObject({ balance: 1000, debits: 0, entries: 1 });
  });

  it('that arrives after it was given up charges nothing', async () => {
    let debit_id = '';
    const late = createMetering({
      redis: world.redis,
      settings: UNLIMITED,
      now: () => world.clock.ms,
      log: silentLog,
      debitId: () => debit_id,
    });
    const giving_up = createMetering({
      redis,
      settings: UNLIMITED,
      now: () => world.clock.ms,
      log: silentLog,
      debitId: () => debit_id,
    });
    debit_id = 'held up on its way';
    proxy.fault = 'cut_request';
    await expect(giving_up.admit(admissionOf(customer.facts, { price: 5 }))).rejects.toThrow(
      MeteringUnavailable,
    );
    proxy.fault = 'none';
    await whenReady(redis, 60_000);
    await giving_up.flush();
    await expect(late.admit(admissionOf(customer.facts, { price: 5 }))).rejects.toThrow(MeteringUnavailable);
    expect(await books()).toMatchObject({ balance: 1000, debits: 0 });
  });
});

describe('a Redis that does not answer', () => {
  it('costs a keyed call a bounded time and no credits', async () => {
    await admit(1);
    proxy.fault = 'silent';
    await expect(admit(5)).rejects.toThrow(MeteringUnavailable);
    expect(await books()).toMatchObject({ balance: 994 });
    proxy.fault = 'none';
    redis.disconnect(true);
    await expect.poll(() => metering.flush().then(books)).toMatchObject({ balance: 999 });
    expect(await books()).toMatchObject({ balance: 999, ledger: 999 });
  });

  it('lets anonymous callers through, uncounted, and does not make the next ones wait', async () => {
    proxy.fault = 'silent';
    expect(await metering.admitAddress('192.0.2.1')).toEqual({ kind: 'admitted' });
    expect(metering.admitAddress('192.0.2.1')).toEqual({ kind: 'admitted' });
    expect(metering.uncounted).toBe(2);
  });
});

describe('while Redis is unreachable', () => {
  it('keyed calls fail at once, anonymous ones go on; all recover by themselves', async () => {
    await admit();
    await server.kill();
    await expect.poll(() => metering.ready(), { interval: 1 }).toBe(false);
    await expect(admit()).rejects.toThrow(MeteringUnavailable);
    await expect(metering.resolveKey(`Bearer ${customer.key}`)).rejects.toThrow(MeteringUnavailable);
    expect(metering.admitAddress('192.0.2.1')).toEqual({ kind: 'admitted' });
    await server.restart();
    expect(await whenReady(redis, 60_000)).toBe(true);
    expect(metering.ready()).toBe(true);
    expect(await admit()).toMatchObject({ kind: 'admitted', balance: 998 });
    expect(await metering.resolveKey(`Bearer ${customer.key}`)).toEqual(customer.facts);
    world = createWorld(await server.connect(), UNLIMITED);
    expect(await books()).toMatchObject({ balance: 998, ledger: 998, debits: 2 });
  });
});
