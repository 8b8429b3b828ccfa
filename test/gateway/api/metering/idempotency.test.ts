/** The record of an Idempotency-Key in the scripts that debit and reverse, on a real Redis that loses replies and dies. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import type { Debit } from '../../../../gateway/api/metering/metering.ts';
import { useRedis } from '../../../redis.ts';
import { admissionOf, booksOf, type Customer, createWorld, debitOf, UNLIMITED } from './harness.ts';

const server = await useRedis({ persistent: true });
const world = createWorld(await server.connect(), UNLIMITED);

const named = { key: 'k', fingerprint: 'f', edition: 'e1' };
const PRICE = 7;
const call = ({ call: send }: Customer, edition = 'e1') =>
  send({ price: PRICE, idempotency: { ...named, edition } });

it('a reversal that arrives before its debit leaves no record behind', async () => {
  const customer = await world.customer();
  const metering = world.gateway({ debitId: () => 'late' });
  const debit: Debit = {
    debit_id: 'late',
    price: PRICE,
    at_ms: world.clock.ms,
    account_id: customer.account_id,
    key_id: customer.apiKey.key_id,
    route: '/v1/data',
    request_id: 'r',
    idempotency_key: 'k',
    indicators: '',
  };
  await metering.refund(debit);
  const sent = metering.admit(admissionOf(customer.apiKey, { price: PRICE, idempotency: named }));
  await expect(sent).rejects.toThrow('reversed');
  expect(await world.redis.exists(redisKeys.repeatable(customer.account_id, 'k'))).toBe(0);
  expect(await booksOf(world, customer.account_id)).toMatchObject({ balance: 100, debits: 0 });
});

it('a reversal of an earlier call under the key does not touch the record of a later one', async () => {
  const customer = await world.customer();
  const first = debitOf(await call(customer));
  await world.redis.del(redisKeys.repeatable(customer.account_id, 'k'));
  await call(customer);
  await world.metering.refund(first);
  expect(await call(customer)).toMatchObject({ charged: 0, repeatOf: 'e1' });
  expect(await booksOf(world, customer.account_id)).toMatchObject({ balance: 93 });
});

it('a peek tells of a repeat and counts none', async () => {
  const customer = await world.customer();
  const peek = () => customer.call({ price: 0, peek: true, idempotency: { ...named, edition: '' } });
  expect(await peek()).not.toHaveProperty('repeatOf');
  await call(customer);
  for (let time = 0; time < 7; time += 1) expect(await peek()).toMatchObject({ repeatOf: 'e1' });
  for (let time = 0; time < 5; time += 1) expect(await call(customer)).toMatchObject({ charged: 0 });
  expect(await peek()).not.toHaveProperty('repeatOf');
  expect(await call(customer, 'e9')).toMatchObject({ charged: PRICE });
  expect(await peek()).toMatchObject({ repeatOf: 'e9' });
});

/** One call under a key, repeated and reversed, beside what is expected of it. */
class Schedule {
  readonly #customer: Customer;
  /** Charged and not yet reversed. */
  #open: Debit | null = null;
  /** Since the last charge; null where there is none to repeat. */
  #repeats: number | null = null;
  paid = 0;

  constructor(customer: Customer) {
    this.#customer = customer;
  }

  async call(): Promise<void> {
    const verdict = await call(this.#customer);
    const isRepeat = this.#repeats !== null && this.#repeats < 5;
    expect(verdict).toMatchObject({ kind: 'admitted', charged: isRepeat ? 0 : PRICE });
    this.#repeats = isRepeat ? (this.#repeats ?? 0) + 1 : 0;
    if (isRepeat) return;
    this.paid += 1;
    this.#open = debitOf(verdict);
  }

  /** Of the last charge, whose answer was lost. */
  async reverse(): Promise<void> {
    if (this.#open === null) return;
    await world.metering.refund(this.#open);
    this.#open = null;
    if (this.#repeats !== 0) return;
    this.paid -= 1;
    this.#repeats = null;
  }

  /** Another call under the same key. */
  async other(): Promise<void> {
    const verdict = await this.#customer.call({
      price: PRICE,
      idempotency: { ...named, fingerprint: 'g' },
    });
    expect(verdict.kind).toBe(this.#repeats === null ? 'admitted' : 'idempotency_conflict');
    if (verdict.kind === 'admitted') await world.metering.refund(debitOf(verdict));
  }
}

const step = fc.constantFrom('call', 'call', 'call', 'reverse', 'other');

it('on random schedules: a key is paid once for every six answers, and no reversal undoes a repeat', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 24 }), async (steps) => {
      const customer = await world.customer({ credits: 1_000 });
      const schedule = new Schedule(customer);
      for (const one of steps) await schedule[one]();
      const { balance, ledger } = await booksOf(world, customer.account_id);
      expect([balance, ledger]).toEqual([1_000 - schedule.paid * PRICE, balance]);
    }),
    { numRuns: 100 },
  );
});
