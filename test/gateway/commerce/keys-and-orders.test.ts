/** Keys and orders of accounts on a real Redis. */
import { describe, expect, it } from 'vitest';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { AccountError } from '../../../gateway/commerce/store/records.ts';
import { keysMatching } from '../../redis.ts';
import { admissionOf, booksOf, createWorld, type World } from '../api/metering/harness.ts';
import { useStores } from './stores.ts';

let world: World;
let account_id: string;
useStores(async ({ redis }) => {
  world = createWorld(redis);
  ({ account_id } = await world.store.create({ email: 'ann@example.org', verified: true, by: 'test' }));
});

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof AccountError ? error.code : String(error)),
  );

describe('keys', () => {
  it('are listed and stored without their secret', async () => {
    const { key, key_id } = await world.store.keys.mint(account_id, {
      label: ' laptop ',
      by: 'ada@example.org',
    });
    expect(await world.store.keys.list(account_id)).toEqual([
      {
        key_id,
        environment: 'live',
        label: 'laptop',
        last4: key.slice(-4),
        state: 'active',
        created_at_ms: world.clock.ms,
        expires_at_ms: null,
        revoked_at_ms: null,
        last_used_at_ms: null,
        by: 'ada@example.org',
        monthly_limit: null,
        ranges: [],
        origins: [],
        month_credits: 0,
        replaces: null,
        replaced_by: null,
        counted_with: null,
      },
    ]);
    for (const name of await keysMatching(world.redis))
      expect(JSON.stringify(await world.redis.dump(name))).not.toContain(key.slice(-40));
  });

  it('stay listed after revocation, the newest fifty, and never work again', async () => {
    const texts: string[] = [];
    for (let i = 0; i < 60; i++) {
      const { key, key_id } = await world.store.keys.mint(account_id);
      texts.push(key);
      world.clock.ms += 1;
      await world.store.keys.revoke(key_id);
    }
    const last = await world.store.keys.mint(account_id);
    const kept = await world.store.keys.list(account_id);
    expect(kept.map(({ key_id }) => key_id)).toEqual(
      [...texts.slice(10), last.key].map((text) => text.slice(9, 21)),
    );
    expect(await keysMatching(world.redis, 'key:*')).toHaveLength(51);
    expect(await world.redis.hlen(redisKeys.keys(account_id))).toBe(50 * 5 + 4);
    const fresh = createWorld(world.redis);
    for (const text of texts) {
      const apiKey = await fresh.metering.resolveKey(`Bearer ${text}`);
      expect(apiKey && (await fresh.metering.admit(admissionOf(apiKey))).kind).toBe(
        texts.indexOf(text) < 10 ? null : 'invalid_key',
      );
    }
  });

  it('with an unknown id cannot be revoked', async () => {
    expect(await codeOf(world.store.keys.revoke('0000000000zz'))).toBe('key_unknown');
    expect(await codeOf(world.store.keys.revoke('{a:x}:account'))).toBe('key_unknown');
  });

  it('cannot expire in the past', async () => {
    for (const expires_at_ms of [world.clock.ms, world.clock.ms - 1, Number.NaN]) {
      expect(await codeOf(world.store.keys.mint(account_id, { expires_at_ms }))).toBe('bad_input');
    }
    expect(await keysMatching(world.redis, 'key:*')).toEqual([]);
  });
});

describe('orders', () => {
  it('grant no credits while pending', async () => {
    const order = await world.store.orders.create(account_id, 'small');
    expect(order).toEqual({
      order_id: expect.stringMatching(/^ord_/),
      account_id,
      state: 'pending',
      pack_id: 'small',
      pack_name: 'Small',
      credits: 100,
      price_minor: 500,
      currency: 'EUR',
      payment: 'invoice',
      by: '',
      created_at_ms: world.clock.ms,
      moved_at_ms: world.clock.ms,
      shortfall: 0,
    });
    expect((await world.store.get(account_id)).credits.balance).toBe(0);
  });

  it('take back the remaining credits when refunded and report the shortfall', async () => {
    const { call, account_id } = await world.customer({ credits: 0 });
    const { order_id } = await world.store.orders.create(account_id, 'small');
    await world.store.orders.move(order_id, 'paid');
    await call({ price: 30, rows: 30 });
    const { order, balance } = await world.store.orders.move(order_id, 'refunded');
    expect(order).toMatchObject({ state: 'refunded', shortfall: 30 });
    expect(balance).toBe(0);
    expect(await world.store.orders.move(order_id, 'refunded')).toMatchObject({ changed: false });
    expect(await booksOf(world, account_id)).toMatchObject({ balance: 0, granted: 30, spent: 30, ledger: 0 });
    expect((await world.store.ledger(account_id))[0]).toMatchObject({ kind: 'refund', delta: -70 });
    expect((await world.store.get(account_id)).tier).toBe('free');
  });

  const STATES = ['pending', 'paid', 'failed', 'cancelled', 'refunded'] as const;
  const ALLOWED = new Set(['pending>paid', 'pending>failed', 'pending>cancelled', 'paid>refunded']);
  for (const from of STATES) {
    for (const to of ['paid', 'failed', 'cancelled', 'refunded'] as const) {
      const expected = from === to || ALLOWED.has(`${from}>${to}`) ? 'done' : 'order_state';
      it(`${from} → ${to}: ${expected}`, async () => {
        const { order_id } = await world.store.orders.create(account_id, 'small');
        if (from === 'refunded') await world.store.orders.move(order_id, 'paid');
        if (from !== 'pending') await world.store.orders.move(order_id, from);
        const before = (await world.store.get(account_id)).credits.balance;
        expect(await codeOf(world.store.orders.move(order_id, to))).toBe(expected);
        expect((await world.store.orders.get(order_id)).state).toBe(expected === 'done' ? to : from);
        if (expected !== 'done') expect((await world.store.get(account_id)).credits.balance).toBe(before);
      });
    }
  }

  it('are listed newest first, per account and overall, filtered by state', async () => {
    const first = await world.store.orders.create(account_id, 'small');
    world.clock.ms += 1000;
    const second = await world.store.orders.create(account_id, 'large');
    await world.store.orders.move(second.order_id, 'paid');
    const ids = (orders: { order_id: string }[]) => orders.map(({ order_id }) => order_id);
    expect(ids(await world.store.orders.list(account_id))).toEqual([second.order_id, first.order_id]);
    expect(ids(await world.store.orders.listAll({}))).toEqual([second.order_id, first.order_id]);
    expect(ids(await world.store.orders.listAll({ state: 'pending' }))).toEqual([first.order_id]);
    expect(ids(await world.store.orders.listAll({ limit: 1 }))).toEqual([second.order_id]);
  });

  it('reject an unknown pack or order id and write nothing', async () => {
    expect(await codeOf(world.store.orders.create(account_id, 'nothing'))).toBe('pack_unknown');
    expect(await codeOf(world.store.orders.move('ord_nothing', 'paid'))).toBe('order_unknown');
    expect(await keysMatching(world.redis, 'order:*')).toEqual([]);
  });
});
