/**
 * Money properties on random schedules: calls, grants, claw-backs, orders, revocations, suspensions, repeated debit ids
 * and moving clocks on one account, over several gateways with their own connections.
 *
 * Always: balance = sum of ledger deltas = granted − spent, never negative; every admitted call is charged exactly its
 * price, exactly once; every rejected call is free.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RedisClient } from '../../../../data/runtime/redis.ts';
import type { Verdict } from '../../../../gateway/api/metering/metering.ts';
import type { LedgerEntry } from '../../../../gateway/commerce/store/records.ts';
import { startRedis, startRedisCluster, type TestCluster, type TestRedis } from '../../../redis.ts';
import { admissionOf, booksOf, createWorld, type Drawn, LIMITS, type World, weighted } from './harness.ts';

const GATEWAYS = 3;

const idem = fc.constantFrom('', 'a', 'b');
const action = fc.oneof(
  weighted(12, 'call', {
    gateway: fc.nat(GATEWAYS - 1),
    price: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 40 })),
    status: fc.constantFrom(200, 200, 200, 422, 404),
    key: fc.nat(1),
    repeats: fc.constantFrom(1, 1, 1, 2, 4),
  }),
  weighted(2, 'grant', { credits: fc.integer({ min: 1, max: 50 }), idem }),
  weighted(2, 'adjust', {
    delta: fc.integer({ min: -60, max: 30 }).filter((delta) => delta !== 0),
    idem,
  }),
  weighted(1, 'order', { twice: fc.boolean(), refund: fc.boolean() }),
  weighted(1, 'revoke', { key: fc.nat(1) }),
  weighted(1, 'suspend', {}),
  weighted(2, 'restore', {}),
  weighted(2, 'clock', { by_ms: fc.integer({ min: -90_000, max: 200_000 }) }),
);
type Action = Drawn<typeof action>;
/** Actions of one group run concurrently, groups one after another. */
const schedule = fc.array(fc.array(action, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 8 });

/** Gateways whose next debit id can be chosen. */
const gatewaysOn = (connections: RedisClient[], world: World) =>
  connections.map((redis) => {
    const debit = { next: '' };
    const settings = {
      FREE_PER_MINUTE: 25,
      PAID_PER_MINUTE: 40,
      FREE_PER_DAY: 100_000,
      PAID_PER_DAY: 100_000,
    };
    const metering = world.gateway({
      redis,
      settings: { ...LIMITS, ...settings },
      debitId: () => debit.next,
      timeout_ms: 10_000, // a machine that holds Redis back is no fault of Redis
    });
    return { metering, debit };
  });

interface Charge {
  request_id: string;
  price: number;
  verdicts: Verdict[];
}

async function run(world: World, gateways: ReturnType<typeof gatewaysOn>, groups: Action[][]): Promise<void> {
  const { account_id, apiKey } = await world.customer({ credits: 60 });
  const { key } = await world.store.keys.mint(account_id);
  const second = await world.metering.resolveKey(`Bearer ${key}`);
  const keys = [apiKey, second ?? apiKey];
  const charges: Charge[] = [];
  let debits = 0;

  const call = async ({ gateway, price, status, key, repeats }: Extract<Action, { kind: 'call' }>) => {
    const [to, with_key] = [gateways[gateway], keys[key]];
    if (!to || !with_key) return;
    const debit_id = `debit ${debits++}`;
    const charge: Charge = {
      request_id: `${debit_id} of ${account_id}`,
      price: status < 400 ? price : 0,
      verdicts: [],
    };
    charges.push(charge);
    const admission = admissionOf(with_key, { price, status, rows: price, request_id: charge.request_id });
    // The same command several times at once, as a gateway repeats it after a lost reply.
    const sent = Array.from({ length: price > 0 ? repeats : 1 }, () => {
      to.debit.next = debit_id;
      return to.metering.admit(admission);
    });
    charge.verdicts = await Promise.all(sent);
  };

  const order = async ({ twice, refund }: Extract<Action, { kind: 'order' }>) => {
    const { order_id } = await world.store.orders.create(account_id, 'small');
    await Promise.all((twice ? [1, 2] : [1]).map(() => world.store.orders.move(order_id, 'paid')));
    if (refund) await world.store.orders.move(order_id, 'refunded');
  };

  const perform = async (action: Action): Promise<unknown> => {
    switch (action.kind) {
      case 'call':
        return call(action);
      case 'grant':
        return world.store.grant(account_id, { ...action, by: 'test' }).catch(ignoreIdemConflict);
      case 'adjust':
        return world.store.adjust(account_id, { ...action, by: 'test' }).catch(ignoreIdemConflict);
      case 'order':
        return order(action);
      case 'revoke':
        return world.store.keys.revoke(keys[action.key]?.key_id ?? '');
      case 'suspend':
        return world.store.suspend(account_id);
      case 'restore':
        return world.store.restore(account_id);
      case 'clock':
        world.clock.ms += action.by_ms;
        return null;
    }
  };
  for (const group of groups) await Promise.all(group.map(perform));
  await check(world, account_id, charges);
}

const ignoreIdemConflict = (error: { code?: string }): null => {
  if (error.code === 'idem_conflict') return null;
  throw error;
};

async function check(world: World, account_id: string, charges: Charge[]): Promise<void> {
  const books = await booksOf(world, account_id);
  expect(books.balance).toBe(books.ledger);
  expect(books.balance).toBe(books.granted - books.spent);

  const entries = (await wholeLedger(world, account_id)).reverse();
  let balance = 0;
  for (const entry of entries) {
    balance += entry.delta;
    expect(entry.balance).toBe(balance);
    expect(balance).toBeGreaterThanOrEqual(0);
  }

  const debited = new Map<string, number[]>();
  for (const { kind, cause, delta } of entries) {
    if (kind !== 'debit' || !('request_id' in cause)) continue;
    debited.set(cause.request_id, [...(debited.get(cause.request_id) ?? []), -delta]);
  }
  let spent = 0;
  for (const { request_id, price, verdicts } of charges) {
    const admitted = verdicts.filter((verdict) => verdict.kind === 'admitted');
    for (const verdict of admitted) expect(verdict.charged).toBe(price);
    const isCharged = admitted.length > 0 && price > 0;
    expect(debited.get(request_id) ?? []).toEqual(isCharged ? [price] : []);
    if (isCharged) spent += price;
  }
  expect(books.spent).toBe(spent);
}

async function wholeLedger(world: World, account_id: string): Promise<LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  for (let before: string | undefined; ; before = entries.at(-1)?.id) {
    const page = await world.store.ledger(account_id, { limit: 500, ...(before && { before }) });
    if (page.length === 0) return entries;
    entries.push(...page);
  }
}

describe.each([
  { name: 'one Redis', start: startRedis, numRuns: 60 },
  { name: 'a Redis Cluster', start: startRedisCluster, numRuns: 15 },
])('money on $name', ({ start, numRuns }) => {
  let server: TestRedis | TestCluster;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server.stop());

  it('is exact on random schedules', async () => {
    const world = createWorld(await server.connect());
    const connections = await Promise.all(Array.from({ length: GATEWAYS }, () => server.connect()));
    const gateways = gatewaysOn(connections, world);
    await fc.assert(
      fc.asyncProperty(schedule, (groups) => run(world, gateways, groups)),
      { numRuns },
    );
  });

  it('pays for exactly one of many concurrent calls when the balance covers one', async () => {
    const world = createWorld(await server.connect(), {
      ...LIMITS,
      FREE_PER_MINUTE: 1000,
      FREE_PER_DAY: 1000,
    });
    const { call, account_id } = await world.customer({ credits: 7 });
    const verdicts = await Promise.all(Array.from({ length: 100 }, () => call({ price: 7, rows: 7 })));
    expect(verdicts.filter(({ kind }) => kind === 'admitted')).toHaveLength(1);
    expect(verdicts.filter(({ kind }) => kind === 'insufficient_credits')).toHaveLength(99);
    expect(await booksOf(world, account_id)).toMatchObject({ balance: 0, debits: 1, spent: 7 });
  });

  it('a revocation takes effect at every gateway with the next request', async () => {
    const world = createWorld(await server.connect());
    const other = world.gateway({ redis: await server.connect() });
    const { call, key, apiKey } = await world.customer();
    const seen = await other.resolveKey(`Bearer ${key}`);
    expect(seen && (await other.admit(admissionOf(seen))).kind).toBe('admitted');
    await world.store.keys.revoke(apiKey.key_id);
    const refused = { kind: 'invalid_key', isSuspended: false };
    expect(await call()).toEqual(refused);
    expect(seen && (await other.admit(admissionOf(seen)))).toEqual(refused);
  });
});
