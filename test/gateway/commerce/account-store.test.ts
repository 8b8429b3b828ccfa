/** The account store on a real Redis: creation, states, credits and ledger. */
import { describe, expect, it } from 'vitest';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { AccountError, type AccountErrorCode } from '../../../gateway/commerce/store/records.ts';
import { keysMatching } from '../../redis.ts';
import { createWorld, type World } from '../api/metering/harness.ts';
import { useStores } from './stores.ts';

let world: World;
useStores(({ redis }) => {
  world = createWorld(redis);
});

const by = 'test';

async function codeOf(work: Promise<unknown>): Promise<AccountErrorCode | 'done'> {
  try {
    await work;
    return 'done';
  } catch (error) {
    if (error instanceof AccountError) return error.code;
    throw error;
  }
}

describe('creating an account', () => {
  it('records the initial credits as a ledger entry', async () => {
    const account = await world.store.create({ email: ' Ann@Example.ORG ', name: ' Ann ', credits: 50, by });
    expect(account).toEqual({
      account_id: expect.stringMatching(/^acc_[0-9a-hjkmnp-tv-z]{16}$/),
      email: 'ann@example.org',
      name: 'Ann',
      state: 'active',
      verified: false,
      tier: 'anonymous',
      created_at_ms: world.clock.ms,
      credits: { balance: 50, lifetime_granted: 50, lifetime_spent: 0 },
    });
    expect(await world.store.ledger(account.account_id)).toMatchObject([
      { kind: 'grant', delta: 50, balance: 50, cause: { by }, reason: 'first credits' },
    ]);
  });

  it('makes it findable by its e-mail address, case-insensitively', async () => {
    const account = await world.store.create({ email: 'ann@example.org', by });
    expect(await world.store.findByEmail('ANN@example.org ')).toEqual(account);
    expect(await codeOf(world.store.findByEmail('bob@example.org'))).toBe('account_unknown');
  });

  it('creates one account per e-mail address, even concurrently', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () =>
        codeOf(world.store.create({ email: 'ann@example.org', credits: 10, by })),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'account_exists')).toHaveLength(7);
    expect((await world.store.findByEmail('ann@example.org')).credits.balance).toBe(10);
    expect(await world.redis.zcard(redisKeys.accounts)).toBe(1);
  });

  it('completes an account after a crash between its e-mail index and its hash', async () => {
    await world.redis.set(redisKeys.email('ann@example.org'), 'per_halfway');
    expect(await codeOf(world.store.findByEmail('ann@example.org'))).toBe('account_unknown');
    const account = await world.store.create({ email: 'ann@example.org', credits: 10, by });
    expect(account.account_id).toBe('acc_halfway');
    expect((await world.store.findByEmail('ann@example.org')).credits.balance).toBe(10);
  });

  it('completes the list of accounts after a crash before it was written', async () => {
    const { account_id } = await world.store.create({ email: 'ann@example.org', by });
    await world.redis.zrem(redisKeys.accounts, account_id);
    expect(await codeOf(world.store.create({ email: 'ann@example.org', by }))).toBe('account_exists');
    expect(await world.redis.zrange(redisKeys.accounts, '0', '-1')).toEqual([account_id]);
  });

  it.each([
    '',
    'ann',
    'ann@',
    '@example.org',
    'ann@example',
    'a b@example.org',
    `${'a'.repeat(250)}@example.org`,
  ])('rejects the e-mail address "%s"', async (email) => {
    expect(await codeOf(world.store.create({ email, by }))).toBe('bad_input');
  });

  it.each([-1, 0.5, Number.NaN, 1e13])('rejects %d initial credits', async (credits) => {
    expect(await codeOf(world.store.create({ email: 'ann@example.org', credits, by }))).toBe('bad_input');
    expect(await world.redis.dbsize()).toBe(0);
  });
});

describe('account states', () => {
  const moves = { suspend: 'suspended', restore: 'active', close: 'closed' } as const;
  it.each([
    [['suspend'], 'done'],
    [['suspend', 'suspend'], 'done'],
    [['suspend', 'restore'], 'done'],
    [['restore'], 'done'],
    [['close'], 'done'],
    [['suspend', 'close'], 'done'],
    [['close', 'close'], 'done'],
    [['close', 'restore'], 'account_state'],
    [['close', 'suspend'], 'account_state'],
  ] as const)('%s: %s', async (path, expected) => {
    const { account_id } = await world.store.create({ email: 'ann@example.org', by });
    let outcome: string = '';
    for (const move of path) outcome = await codeOf(world.store[move](account_id));
    expect(outcome).toBe(expected);
    const last = path[path.length - 1] ?? 'close';
    expect((await world.store.get(account_id)).state).toBe(expected === 'done' ? moves[last] : 'closed');
  });

  it('closing revokes all keys and rejects grants, new keys, verification and orders', async () => {
    const { account_id } = await world.customer();
    await world.store.keys.mint(account_id);
    await world.store.close(account_id);
    const states = (await world.store.keys.list(account_id)).map(({ state }) => state);
    expect(states).toEqual(['revoked', 'revoked']);
    expect(await codeOf(world.store.grant(account_id, { credits: 1, by }))).toBe('account_state');
    expect(await codeOf(world.store.keys.mint(account_id))).toBe('account_state');
    expect(await codeOf(world.store.verify(account_id, { by }))).toBe('account_state');
    expect(await codeOf(world.store.orders.create(account_id, 'small'))).toBe('account_state');
  });

  it('a suspended account gets no new keys', async () => {
    const { account_id } = await world.customer();
    await world.store.suspend(account_id);
    expect(await codeOf(world.store.keys.mint(account_id))).toBe('account_state');
  });

  it('changes of an unknown account are rejected and write nothing', async () => {
    const works = [
      () => world.store.suspend('acc_nobody'),
      () => world.store.verify('acc_nobody', { by }),
      () => world.store.grant('acc_nobody', { credits: 1, by }),
      () => world.store.keys.mint('acc_nobody'),
      () => world.store.orders.create('acc_nobody', 'small'),
    ];
    for (const work of works) expect(await codeOf(work())).toBe('account_unknown');
    for (const pattern of ['{a:*', 'key:*', 'order:*'])
      expect(await keysMatching(world.redis, pattern)).toEqual([]);
  });
});

describe('credits', () => {
  it.each([0, 0.5, -1, Number.NaN])('a grant of %d is rejected', async (credits) => {
    const { account_id } = await world.customer();
    expect(await codeOf(world.store.grant(account_id, { credits, by }))).toBe('bad_input');
  });

  it('never exceed the largest exact integer', async () => {
    const { account_id } = await world.customer({ credits: 0 });
    await world.redis.hset(redisKeys.account(account_id), 'balance', Number.MAX_SAFE_INTEGER - 1);
    expect(await codeOf(world.store.grant(account_id, { credits: 1, by }))).toBe('done');
    expect(await codeOf(world.store.grant(account_id, { credits: 1, by }))).toBe('too_large');
    expect((await world.store.get(account_id)).credits.balance).toBe(Number.MAX_SAFE_INTEGER);
  });
});
