/** Refunds of calls whose answer could not be produced, and the search for debits that Redis has forgotten. */
import { beforeEach, describe, expect, it } from 'vitest';
import { findCharged } from '../../../../gateway/api/metering/debit-reversals.ts';
import type { Debit } from '../../../../gateway/api/metering/metering.ts';
import type { RedisMetering } from '../../../../gateway/api/metering/redis-metering.ts';
import { keysMatching, useRedis } from '../../../redis.ts';
import {
  admissionOf,
  booksOf,
  type Customer,
  createWorld,
  debitOf,
  UNLIMITED,
  type World,
} from './harness.ts';

const DAY_MS = 86_400_000;

let world: World;
let customer: Customer;
const server = await useRedis();
beforeEach(async () => {
  world = createWorld(await server.connect(), UNLIMITED);
  customer = await world.customer({ credits: 100 });
});

const books = () => booksOf(world, customer.account_id);
const credits = async (days = 1) => (await world.metering.usage(customer.account_id, days)).totals.credits;

/** Charges a call and returns its debit. */
async function charge(price: number, metering: RedisMetering = world.metering): Promise<Debit> {
  const request_id = `call of ${price}`;
  return debitOf(await metering.admit(admissionOf(customer.apiKey, { price, request_id })));
}

describe('refund', () => {
  it('gives back balance, spent credits and usage, with one ledger entry that names the call', async () => {
    const debit = await charge(7);
    expect(await books()).toMatchObject({ balance: 93, spent: 7, ledger: 93 });
    expect(await credits()).toBe(7);
    await world.metering.refund(debit);
    expect(await books()).toMatchObject({ balance: 100, spent: 0, granted: 100, ledger: 100, debits: 1 });
    expect(await credits()).toBe(0);
    const [entry] = await world.store.ledger(customer.account_id);
    expect(entry).toMatchObject({
      kind: 'refund',
      delta: 7,
      balance: 100,
      cause: { request_id: 'call of 7', route: '/v1/countries/{iso3}', key_id: customer.apiKey.key_id },
    });
  });

  it('refunds each of many debits at once, and no other', async () => {
    const debits = await Promise.all([1, 2, 3, 4].map((price) => charge(price)));
    await Promise.all(debits.slice(1).map((debit) => world.metering.refund(debit)));
    expect(await books()).toMatchObject({ balance: 99, spent: 1, ledger: 99, debits: 4, entries: 8 });
  });

  it('corrects the usage of the day of the debit after midnight', async () => {
    world.clock.ms = Math.ceil(world.clock.ms / DAY_MS) * DAY_MS - 1;
    const debit = await charge(7);
    world.clock.ms += 2;
    await world.metering.refund(debit);
    const { daily } = await world.metering.usage(customer.account_id, 2);
    expect(daily.map((day) => day.credits)).toEqual([0, 0]);
    expect(await books()).toMatchObject({ balance: 100 });
  });

  it('refunds once after Redis has forgotten the debit id', async () => {
    const debit = await charge(7);
    for (const name of await keysMatching(world.redis, '*:debits:*')) await world.redis.del(name);
    world.clock.ms += 600_000;
    await world.metering.refund(debit);
    for (const name of await keysMatching(world.redis, '*:debits:*')) await world.redis.del(name);
    await world.metering.refund(debit);
    expect(await books()).toMatchObject({ balance: 100, spent: 0, ledger: 100, entries: 3 });
  });
});

describe('the search for charged debits in a ledger', () => {
  beforeEach(async () => {
    await world.redis.del('ledger');
  });

  const NOW_MS = 1_800_000_000_000;
  const searched = (request_id: string, later_ms = 0, price = 5) => ({
    request_id,
    at_ms: NOW_MS + later_ms,
    price,
    key_id: 'a key',
  });

  /** Adds an entry as the scripts write it. @param skew_ms how far the clock of Redis is ahead */
  async function addEntry(
    kind: 'debit' | 'refund',
    request: string,
    later_ms = 0,
    skew_ms = 0,
  ): Promise<void> {
    const at_ms = NOW_MS + later_ms;
    const delta = kind === 'debit' ? -5 : 5;
    await world.redis.xadd(
      'ledger',
      `${at_ms + skew_ms}-*`,
      ...['at_ms', at_ms, 'kind', kind, 'delta', delta, 'key', 'a key', 'request', request],
    );
  }

  const found = async (...debits: ReturnType<typeof searched>[]): Promise<string[]> =>
    (await findCharged(world.redis, 'ledger', debits)).map(({ request_id }) => request_id);

  it('finds what was charged, and nothing that differs in request, time or price', async () => {
    await addEntry('debit', 'a', 0, -8_000);
    await addEntry('debit', 'b', 1);
    expect(
      await found(searched('a'), searched('b'), searched('b', 1), searched('c'), searched('a', 0, 6)),
    ).toEqual(['a', 'b']);
  });

  it('reads a ledger of several pages', async () => {
    const pipeline = world.redis.pipeline();
    for (let call = 0; call < 2_500; call++) {
      const fields = ['at_ms', NOW_MS, 'kind', 'debit', 'delta', -5, 'key', 'a key', 'request', `r${call}`];
      pipeline.xadd('ledger', `${NOW_MS}-*`, ...fields);
    }
    await pipeline.exec();
    expect(await found(searched('r0'), searched('r999'), searched('r1000'), searched('r2499'))).toHaveLength(
      4,
    );
  });
});
