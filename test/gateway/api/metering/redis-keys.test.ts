/** Names and lifetimes of Redis keys. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import { flushRedis, keysMatching, startRedis, type TestRedis } from '../../../redis.ts';
import { createWorld, type World } from './harness.ts';

let server: TestRedis;
let world: World;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());
beforeEach(async () => {
  world = createWorld(await server.connect());
});

describe('keys in Redis', () => {
  it('of one account, and of its person, carry a hash tag, so that a cluster keeps them on one node', async () => {
    await flushRedis(world.redis);
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
    await flushRedis(world.redis);
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
