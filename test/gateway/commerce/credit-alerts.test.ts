/** Alerts about spending, once for each hour or day in which calls cost more than set, and about the balance, once for each crossing. */

import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import type { Debit } from '../../../gateway/api/metering/metering.ts';
import {
  BalanceAlerts,
  PERIODS,
  type Period,
  SpendingAlerts,
} from '../../../gateway/commerce/notifications/alerts/ledger-alerts.ts';
import { cases } from '../../environment.ts';
import { useRedis } from '../../redis.ts';
import { type Customer, createWorld, NOON_MS, UNLIMITED } from '../api/metering/harness.ts';

const redis = await useRedis();
const world = createWorld(await redis.connect(), UNLIMITED);
const base = { redis: world.redis, now: () => world.clock.ms, random: randomBytes };
const alerts = new SpendingAlerts(base);
const balanceAlerts = new BalanceAlerts(base);

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('call' as const), price: fc.integer({ min: 0, max: 40 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('refund' as const), call: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('adjust' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('wait' as const), minutes: fc.integer({ min: 5, max: 700 }) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('look' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

/** What was spent in each window, by the test's own account of the calls. */
class Model {
  readonly spent = new Map<number, number>();
  told = -1;
  readonly #per_ms: number;

  constructor(per: Period) {
    this.#per_ms = PERIODS[per];
  }

  add(at_ms: number, credits: number): void {
    const window = Math.floor(at_ms / this.#per_ms);
    this.spent.set(window, (this.spent.get(window) ?? 0) + credits);
  }

  passed(above: number): { window: number; spent: number } | null {
    const windows = [...this.spent].sort(([a], [b]) => b - a);
    const newest = windows[0]?.[0] ?? 0;
    const over = windows.find(
      ([window, spent]) => spent > above && window > this.told && window >= newest - 1,
    );
    return over ? { window: over[0], spent: over[1] } : null;
  }
}

/** What a look writes to the outbox, which is emptied. */
async function look(account_id: string) {
  await alerts.look(account_id);
  const name = redisKeys.accountOutbox(account_id);
  const events = Object.values(await world.redis.hgetall(name)).map((json) => JSON.parse(json));
  await world.redis.del(name);
  return events
    .filter(({ type }) => type === 'spending.above')
    .map(({ data: { spent, threshold, per, since } }) => ({
      spent,
      threshold: Number(threshold),
      per,
      window: since / PERIODS[per as Period],
    }));
}

class Play {
  readonly model: Model;
  readonly #customer: Customer;
  readonly #above: number;
  readonly #per: Period;
  readonly #debits: Debit[] = [];

  constructor(customer: Customer, above: number, per: Period) {
    this.model = new Model(per);
    this.#customer = customer;
    this.#above = above;
    this.#per = per;
  }

  async take(one: Step): Promise<void> {
    if (one.do === 'wait') world.clock.ms += one.minutes * 60_000;
    else if (one.do === 'call') await this.#call(one.price);
    else if (one.do === 'refund') await this.#refund(one.call);
    else if (one.do === 'adjust')
      await world.store.adjust(this.#customer.account_id, { delta: -50, by: 'test' });
    else await this.#look();
  }

  async #call(price: number): Promise<void> {
    const verdict = await this.#customer.call({ price });
    if (verdict.kind !== 'admitted') throw new Error(`the call is ${verdict.kind}`);
    if (verdict.debit) this.#debits.push(verdict.debit);
    if (price > 0) this.model.add(world.clock.ms, price);
  }

  async #refund(call: number): Promise<void> {
    const [debit] = this.#debits.splice(call % Math.max(1, this.#debits.length), 1);
    if (!debit) return;
    const before = (await world.store.get(this.#customer.account_id)).credits.balance;
    await world.metering.refund(debit);
    const after = (await world.store.get(this.#customer.account_id)).credits.balance;
    if (after > before) this.model.add(debit.at_ms, -debit.price);
  }

  async #look(): Promise<void> {
    const expected = this.model.passed(this.#above);
    const found = await look(this.#customer.account_id);
    const limit = { threshold: this.#above, per: this.#per };
    expect(found).toEqual(expected ? [{ ...limit, ...expected }] : []);
    if (expected) this.model.told = expected.window;
  }
}

it('finds each window that passed once told, whatever the order of calls, refunds and looks', async () => {
  const limit = fc.record({
    above: fc.integer({ min: 1, max: 100 }),
    per: fc.constantFrom('hour' as const, 'day' as const),
  });
  await fc.assert(
    fc.asyncProperty(
      limit,
      fc.array(step, { minLength: 5, maxLength: 30 }),
      async ({ above, per }, steps) => {
        world.clock.ms = NOON_MS;
        const customer = await world.customer({ credits: 10_000 });
        await customer.call({ price: 500 });
        await alerts.set(customer.account_id, { above, per });
        const play = new Play(customer, above, per);
        for (const one of steps) await play.take(one);
        await play.take({ do: 'look' });
      },
    ),
    { numRuns: cases(60) },
  );
});

it('reads a ledger that is longer than one look reads, and keeps two windows', async () => {
  world.clock.ms = NOON_MS;
  const customer = await world.customer({ credits: 10_000 });
  await alerts.set(customer.account_id, { above: 4_100, per: 'hour' });
  for (let hour = 0; hour < 5; hour++) {
    await Promise.all(Array.from({ length: 850 }, () => customer.call({ price: 1 })));
    world.clock.ms += PERIODS.hour;
  }
  expect(await look(customer.account_id)).toEqual([]);
  await alerts.set(customer.account_id, { above: 4_100, per: 'day' });
  await Promise.all(Array.from({ length: 4_200 }, () => customer.call({ price: 1 })));
  expect(await look(customer.account_id)).toMatchObject([{ spent: 4_200 }]);
  const fields = await world.redis.hkeys(redisKeys.spending(customer.account_id));
  expect(fields.filter((field) => field.endsWith(':spent'))).toHaveLength(1);
});

it('is removed, and refused for an account that is closed', async () => {
  const { account_id } = await world.customer();
  await alerts.set(account_id, { above: 3, per: 'hour' });
  expect(await alerts.get(account_id)).toEqual({ above: 3, per: 'hour' });
  await alerts.set(account_id, null);
  expect(await alerts.get(account_id)).toBeNull();
  expect(await world.redis.zscore(redisKeys.spendingAlerts, account_id)).toBeNull();
  await expect(alerts.set(account_id, { above: 0.5, per: 'hour' })).rejects.toMatchObject({
    code: 'bad_input',
  });
  await world.store.close(account_id);
  await expect(alerts.set(account_id, { above: 3, per: 'hour' })).rejects.toMatchObject({
    code: 'account_state',
  });
});

it.each([
  { above: 3, per: 'day' },
  { above: 4, per: 'hour' },
] as const)('set to $above credits in one $per after it was told is told again', async ({ above, per }) => {
  world.clock.ms = NOON_MS;
  const customer = await world.customer({ credits: 1_000 });
  await alerts.set(customer.account_id, { above: 3, per: 'hour' });
  await customer.call({ price: 5 });
  expect(await look(customer.account_id)).toHaveLength(1);
  await alerts.set(customer.account_id, { above, per });
  await customer.call({ price: 5 });
  expect(await look(customer.account_id)).toMatchObject([{ threshold: above, per, spent: 5 }]);
});

/** How many crossings wait to be told, after a look. */
async function told(account_id: string): Promise<number> {
  await balanceAlerts.look(account_id);
  return world.redis.hlen(redisKeys.accountOutbox(account_id));
}

it.each([
  ['another threshold', [80]],
  ['the same threshold', [90]],
  ['none and then another', [null, 80]],
])(
  'set to %s, the alert about the balance tells of the next crossing, and each crossing once',
  async (_name, changes) => {
    const { account_id } = await world.customer({ credits: 100 });
    const move = (delta: number) => world.store.adjust(account_id, { delta, by: 'test' });
    await balanceAlerts.set(account_id, 90);
    await move(-15);
    const before = await told(account_id);
    for (const low_at of changes) await balanceAlerts.set(account_id, low_at);
    expect(await told(account_id)).toBe(before);
    await move(15);
    await move(-30);
    expect(await told(account_id)).toBe(before + 1);
    expect(await told(account_id)).toBe(before + 1);
  },
);
