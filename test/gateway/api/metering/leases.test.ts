/** Leases of files in the scripts that debit and reverse, on a real Redis: never paid twice, never more than was paid for. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import type { LeaseTerms, Verdict } from '../../../../gateway/api/metering/metering.ts';
import { useRedis } from '../../../redis.ts';
import { booksOf, type Customer, createWorld, debitOf, UNLIMITED } from './harness.ts';

const PRICE = 7;
const SIZE = 100;
const ALLOWANCE = 20 * SIZE;
const [FILE, OTHER] = ['a', 'b'].map((digit) => digit.repeat(64)) as [string, string];

const server = await useRedis();
const world = createWorld(await server.connect(), UNLIMITED);

interface Asked extends Partial<LeaseTerms> {
  pin?: string | null;
  price?: number;
}

const TERMS: LeaseTerms = {
  object: FILE,
  edition: 'e1',
  bytes: SIZE,
  allowance: ALLOWANCE,
  follows: false,
  looks: false,
};
const call = ({ call: send }: Customer, { pin = 'file', price = PRICE, ...asked }: Asked = {}) =>
  send({ price, rows: price, file: { pin, lease: { ...TERMS, ...asked } } });
const pinned = async ({ call: send }: Customer, pin = 'file'): Promise<string | undefined> => {
  const verdict = await send({ price: 0, peek: true, file: { pin } });
  return verdict.kind === 'admitted' ? verdict.pinned : undefined;
};

const chargedFor = (verdict: Verdict): number => (verdict.kind === 'admitted' ? verdict.charged : -1);
describe('a lease', () => {
  it('is begun by a debit, and what it covers is free and counts no rows', async () => {
    const customer = await world.customer();
    expect(await call(customer)).toMatchObject({ charged: PRICE, debit: { leased: FILE } });
    expect(await call(customer)).toMatchObject({ charged: 0, debit: null, isLeased: true });
    expect(await booksOf(world, customer.account_id)).toMatchObject({ balance: 93, debits: 1 });
    const { daily } = await world.metering.usage(customer.account_id, 1);
    expect(daily).toMatchObject([{ requests: 2, rows: PRICE, credits: PRICE }]);
    const ttl = await world.redis.pttl(redisKeys.lease(customer.account_id, FILE));
    expect(ttl).toBeGreaterThan(86_390_000);
  });

  it('is not begun above max_credits, nor without the credits, and a look begins and uses none', async () => {
    const customer = await world.customer({ credits: PRICE });
    expect((await call(customer, { max_credits: PRICE - 1 })).kind).toBe('max_credits_exceeded');
    expect(await call(customer, { looks: true, price: 0 })).not.toHaveProperty('isLeased');
    expect(chargedFor(await call(customer, { max_credits: PRICE, bytes: 1 }))).toBe(PRICE);
    for (let look = 0; look < 30; look += 1)
      expect(await call(customer, { looks: true, price: 0 })).toMatchObject({ charged: 0, isLeased: true });
    expect(chargedFor(await call(customer, { max_credits: 0 }))).toBe(0);
    expect((await call(customer, { object: OTHER })).kind).toBe('insufficient_credits');
  });

  it('ends when its debit is reversed, unless others were served for it', async () => {
    const customer = await world.customer();
    await world.metering.refund(debitOf(await call(customer)));
    expect(await booksOf(world, customer.account_id)).toMatchObject({ balance: 100 });
    const second = debitOf(await call(customer));
    await call(customer);
    await world.metering.refund(second);
    await world.metering.refund(second);
    expect(await booksOf(world, customer.account_id)).toMatchObject({ balance: 93 });
    expect(chargedFor(await call(customer))).toBe(0);
  });

  it('that was begun anew is not ended by the reversal of an earlier debit', async () => {
    const customer = await world.customer();
    const first = debitOf(await call(customer, { bytes: SIZE }));
    await world.redis.del(redisKeys.lease(customer.account_id, FILE));
    await call(customer);
    await world.metering.refund(first);
    expect(chargedFor(await call(customer))).toBe(0);
    expect(await booksOf(world, customer.account_id)).toMatchObject({ balance: 93 });
  });

  it('covers a repeat under an Idempotency-Key, and without it the repeat is paid', async () => {
    const customer = await world.customer();
    const idempotency = { key: 'k', fingerprint: 'f', edition: 'e1' };
    const repeat = (bytes: number) =>
      customer.call({ price: PRICE, idempotency, file: { pin: null, lease: { ...TERMS, bytes } } });
    expect(chargedFor(await repeat(SIZE))).toBe(PRICE);
    expect(await repeat(SIZE)).toMatchObject({ charged: 0, repeatOf: 'e1', isLeased: true });
    expect(chargedFor(await repeat(ALLOWANCE))).toBe(PRICE);
  });
});

describe('a pin', () => {
  it('holds the edition of a URL that names none, for as long as its lease', async () => {
    const customer = await world.customer();
    expect(await pinned(customer)).toBeUndefined();
    await call(customer, { pin: null });
    expect(await pinned(customer)).toBeUndefined();
    await call(customer);
    expect(await pinned(customer)).toBe('e1');
    const ttl = (name: string) => world.redis.pttl(name);
    const lease = await ttl(redisKeys.lease(customer.account_id, FILE));
    const pin = await ttl(redisKeys.pin(customer.account_id, 'file'));
    expect(Math.abs(lease - pin)).toBeLessThan(1_000);
  });

  it('is followed while a lease covers the call, and given up uncounted when none does', async () => {
    const customer = await world.customer();
    await call(customer);
    expect(chargedFor(await call(customer, { follows: true }))).toBe(0);
    expect(await call(customer, { follows: true, bytes: ALLOWANCE })).toMatchObject({ kind: 'lease_over' });
    expect(await pinned(customer)).toBeUndefined();
    const { daily } = await world.metering.usage(customer.account_id, 1);
    expect(daily).toMatchObject([{ requests: 2 }]);
    await call(customer, { edition: 'e2', object: OTHER });
    expect(await pinned(customer)).toBe('e2');
  });
});

const step = fc.record({
  object: fc.constantFrom(FILE, OTHER),
  bytes: fc.integer({ min: SIZE / 4, max: SIZE }),
});

it('on random schedules: each lease is paid once and sends at most its allowance', async () => {
  const allowance = 5 * SIZE;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 40 }), async (steps) => {
      const customer = await world.customer({ credits: 1_000 });
      const left = new Map<string, number>();
      let leases = 0;
      for (const { object, bytes } of steps) {
        const isCovered = (left.get(object) ?? 0) >= bytes;
        expect(chargedFor(await call(customer, { object, bytes, allowance }))).toBe(isCovered ? 0 : PRICE);
        if (!isCovered) leases += 1;
        left.set(object, (isCovered ? (left.get(object) ?? 0) : allowance) - bytes);
      }
      expect(await booksOf(world, customer.account_id)).toMatchObject({ balance: 1_000 - leases * PRICE });
    }),
    { numRuns: 40 },
  );
});

it('at the same time: first touches begin one lease, and a reversal among them leaves it or ends it', async () => {
  const customer = await world.customer({ credits: 1_000 });
  const verdicts = await Promise.all(Array.from({ length: 20 }, () => call(customer)));
  expect(verdicts.map(chargedFor).filter((charged) => charged > 0)).toEqual([PRICE]);
  const paid = verdicts.find((verdict) => chargedFor(verdict) > 0);
  if (paid) await world.metering.refund(debitOf(paid));
  // Nineteen were served for it.
  expect(await booksOf(world, customer.account_id)).toMatchObject({ balance: 1_000 - PRICE, debits: 1 });
});
