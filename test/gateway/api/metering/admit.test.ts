/** The admission script, branch by branch, on a real Redis, and the keys that it writes. */
import { describe, expect, it } from 'vitest';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import { keysMatching } from '../../../redis.ts';
import { useStores } from '../../commerce/stores.ts';
import { admissionOf, booksOf, createWorld, LIMITS, type World } from './harness.ts';

const MINUTE_MS = 60_000;
const HALF_DAY_MS = 43_200_000;

let world: World;
useStores(({ redis }) => {
  world = createWorld(redis);
});

describe('an admitted request', () => {
  it('is charged its price and reports debit, balance, tier and the window with fewer requests left', async () => {
    const { call, account_id, apiKey } = await world.customer({ credits: 10 });
    expect(await call({ price: 4, rows: 4 })).toEqual({
      kind: 'admitted',
      charged: 4,
      debit: {
        debit_id: expect.any(String),
        price: 4,
        at_ms: world.clock.ms,
        account_id,
        key_id: apiKey.key_id,
        route: '/v1/countries/{iso3}',
        request_id: 'request-1',
        indicators: '',
        idempotency_key: undefined,
        leased: undefined,
      },
      balance: 6,
      tier: 'free',
      window: { limit: 5, remaining: 4, reset_s: (world.clock.ms + MINUTE_MS) / 1000, ends_in_s: 60 },
      windows: {
        minute: { limit: 5, remaining: 4, reset_s: (world.clock.ms + MINUTE_MS) / 1000, ends_in_s: 60 },
        day: { limit: 20, remaining: 19, reset_s: (world.clock.ms + HALF_DAY_MS) / 1000, ends_in_s: 43_200 },
      },
    });
  });

  it('adds a ledger entry with request, route, key and rows', async () => {
    const { call, account_id, apiKey } = await world.customer({ credits: 10 });
    await call({ price: 4, rows: 4, route: '/v1/data', request_id: 'req-77' });
    const [entry] = await world.store.ledger(account_id);
    expect(entry).toEqual({
      id: expect.stringMatching(/^\d+-\d+$/),
      at_ms: world.clock.ms,
      kind: 'debit',
      delta: -4,
      balance: 6,
      cause: { request_id: 'req-77', route: '/v1/data', key_id: apiKey.key_id, rows: 4 },
      reason: null,
    });
  });

  it('records when its key was last used', async () => {
    const { call, account_id } = await world.customer();
    world.clock.ms += 5_000;
    await call();
    expect((await world.store.keys.list(account_id))[0]?.last_used_at_ms).toBe(world.clock.ms);
  });

  it('is impossible with a price that is not a whole number of credits', async () => {
    const { call, account_id } = await world.customer();
    for (const price of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
      await expect(call({ price })).rejects.toThrow(RangeError);
    }
    expect((await booksOf(world, account_id)).balance).toBe(100);
  });
});

describe('a rejected request costs nothing:', () => {
  it('402, balance below the price: counted in the windows and as an error', async () => {
    const { call, account_id } = await world.customer({ credits: 3 });
    expect(await call({ price: 4, rows: 4 })).toMatchObject({
      kind: 'insufficient_credits',
      balance: 3,
      window: { remaining: 4 },
    });
    expect(await booksOf(world, account_id)).toMatchObject({ balance: 3, spent: 0, debits: 0 });
    expect((await world.metering.usage(account_id, 1)).totals).toEqual({
      requests: 1,
      errors: 1,
      rows: 0,
      credits: 0,
    });
  });

  it('429, window full: counted as an error, not in the windows', async () => {
    const { call, account_id } = await world.customer();
    for (let i = 0; i < LIMITS.FREE_PER_MINUTE; i++) expect((await call()).kind).toBe('admitted');
    world.clock.ms += 20_000;
    for (let i = 0; i < 3; i++) {
      expect(await call()).toMatchObject({
        kind: 'rate_limited',
        retry_after_s: 40,
        balance: 95,
        tier: 'free',
        window: { limit: 5, remaining: 0 },
      });
    }
    expect(await world.redis.get(`{a:${account_id}}:day:${Math.floor(world.clock.ms / 86_400_000)}`)).toBe(
      '5',
    );
    expect((await world.metering.usage(account_id, 1)).totals).toEqual({
      requests: 8,
      errors: 3,
      rows: 0,
      credits: 5,
    });
  });
});

it('a key whose account does not exist is refused, without writing anything', async () => {
  const { apiKey } = await world.customer();
  const stray = { ...apiKey, account_id: 'acc_nobody' };
  expect(await world.metering.admit(admissionOf(stray))).toEqual({
    kind: 'invalid_key',
    isSuspended: false,
  });
  expect(await world.redis.exists('{a:acc_nobody}:account', '{a:acc_nobody}:minute:0')).toBe(0);
});

describe('the tier', () => {
  it('is anonymous until the e-mail is verified, then free, and paid while an order is paid', async () => {
    const { call, account_id } = await world.customer({ verified: false });
    expect(await call()).toMatchObject({ tier: 'anonymous', window: { limit: 3 } });
    await world.store.verify(account_id, { by: 'test' });
    expect(await call()).toMatchObject({ tier: 'free', window: { limit: 5 } });
    const { order_id } = await world.store.orders.create(account_id, 'small');
    expect(await call()).toMatchObject({ tier: 'free' });
    await world.store.orders.move(order_id, 'paid');
    expect(await call()).toMatchObject({ tier: 'paid', window: { limit: 8 } });
    await world.store.orders.move(order_id, 'refunded');
    expect(await call()).toMatchObject({ tier: 'free' });
  });

  it('stays anonymous with a paid order until the e-mail is verified', async () => {
    const { call, account_id } = await world.customer({ verified: false });
    await world.store.orders.move((await world.store.orders.create(account_id, 'small')).order_id, 'paid');
    expect(await call()).toMatchObject({ tier: 'anonymous' });
  });
});

it('a used-up window is confirmed by peeking, which counts only a rejection', async () => {
  const { call, account_id } = await world.customer();
  for (let i = 0; i < LIMITS.FREE_PER_MINUTE; i++) await call();
  expect(await call({ peek: true, price: 0 })).toMatchObject({ kind: 'rate_limited' });
  await world.store.orders.move((await world.store.orders.create(account_id, 'small')).order_id, 'paid');
  const remaining = LIMITS.PAID_PER_MINUTE - LIMITS.FREE_PER_MINUTE;
  expect(await call({ peek: true, price: 0 })).toMatchObject({ kind: 'admitted', window: { remaining } });
  expect(await call()).toMatchObject({ kind: 'admitted', window: { remaining: remaining - 1 } });
  const { totals } = await world.metering.usage(account_id, 1);
  expect(totals).toMatchObject({ requests: LIMITS.FREE_PER_MINUTE + 2, errors: 1 });
});

describe('keys in Redis', () => {
  it('of one account, and of its person, carry a hash tag, so that a cluster keeps them on one node', async () => {
    const { call, account_id } = await world.customer();
    await call();
    // Usage totals are written every few seconds, or now.
    await world.metering.flush();
    const outside = (await keysMatching(world.redis)).filter((key) => !key.startsWith(`{a:${account_id}}:`));
    expect(outside.sort()).toEqual([
      'accounts',
      expect.stringMatching(/^email:/),
      expect.stringMatching(/^key:/),
      'outbox',
      '{global}:usage:2026-11-20',
      expect.stringMatching(/^\{p:per_\w+\}:accounts$/),
      expect.stringMatching(/^\{p:per_\w+\}:person$/),
    ]);
  });

  it('of windows, usage and debits expire; wallets and ledgers do not', async () => {
    const { call } = await world.customer();
    await call({ price: 1, rows: 1 });
    const lifetimes: Record<string, number> = {};
    for (const key of await keysMatching(world.redis, '{a:*')) {
      const [, kind = ''] = key.split('}:');
      lifetimes[kind.split(':')[0] ?? ''] = Math.max(0, Math.ceil((await world.redis.pttl(key)) / 1000));
    }
    expect(lifetimes).toEqual({
      account: 0,
      keys: 0,
      ledger: 0,
      members: 0,
      outbox: 0, // until what it holds was told
      minute: 120,
      debits: 180,
      day: 172_800,
      usage: 8_640_000,
    });
  });
});

it('text chosen by a user or a proxy cannot escape its place in a key', () => {
  expect(redisKeys.account('a}:account{b')).toBe('{a:a%7D%3Aaccount%7Bb}:account');
  expect(redisKeys.key('x}{y z')).toBe('key:x%7D%7By%20z');
  expect(redisKeys.addressMinute('1.2.3.4}:x', 1)).toBe('{ip:1.2.3.4%7D%3Ax}:minute:1');
  expect(redisKeys.email(' Ann@Example.ORG ')).toBe(redisKeys.email('ann@example.org'));
  expect(redisKeys.email('ann@example.org')).toMatch(/^email:[0-9a-f]{64}$/);
});

it('scripts are loaded again when Redis has lost them', async () => {
  const { call } = await world.customer();
  await call();
  await world.redis.script('FLUSH');
  expect((await call()).kind).toBe('admitted');
});
