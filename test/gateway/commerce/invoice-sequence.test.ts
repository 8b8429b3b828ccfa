/** The numbers of invoices and credit notes: without gaps, never used twice, whatever runs at once and whatever crashes. */
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { beforeEach, expect, it } from 'vitest';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { AccountStore } from '../../../gateway/commerce/accounts/account-store.ts';
import { issuedDocument } from '../../../gateway/commerce/orders/document.ts';
import { InvoiceRegister } from '../../../gateway/commerce/orders/invoice-register.ts';
import { DEFAULT_TERMS } from '../../../gateway/commerce/orders/sales-terms.ts';
import { AccountError } from '../../../gateway/commerce/store/records.ts';
import { cases } from '../../environment.ts';
import { flushRedis, useRedis } from '../../redis.ts';
import { NOON_MS, PACKS, seededRandom } from '../api/metering/harness.ts';

/** Longer than marks are left to a process that may still run. */
const LATER_MS = 3_600_000;

const clock = { ms: NOON_MS };
let stores = 0;

const openStore = (client: RedisClient): AccountStore =>
  new AccountStore({
    redis: client,
    now: () => clock.ms,
    packs: PACKS,
    random: seededRandom(`sequence ${stores++}`),
  });

const server = await useRedis();
const redis = await server.connect();
beforeEach(async () => {
  clock.ms = NOON_MS;
  await flushRedis(redis);
});

/** Cuts the connection for good at the n-th command, before or after it was sent, as a process that dies does. */
function dieAt(client: RedisClient, commands: number, isSent: boolean): void {
  if (!(client instanceof Redis)) throw new Error('a single server is needed');
  const send = client.sendCommand.bind(client);
  let left = commands;
  client.sendCommand = (command, stream) => {
    left -= 1;
    if (left > 0) return send(command, stream);
    if (left < 0 || !isSent) {
      client.disconnect();
      return send(command, stream);
    }
    const reply = send(command, stream);
    client.disconnect();
    return reply;
  };
}

type Step =
  | { kind: 'place'; payment: 'invoice' | 'stripe' }
  | { kind: 'move'; order: number; to: 'paid' | 'failed' | 'cancelled' | 'refunded' }
  | {
      kind: 'report';
      order: number;
      report: 'open' | 'expired' | 'failed' | 'paid' | 'refunded';
      id: number;
    };

const ids = { order: fc.nat(5), id: fc.nat(1) };
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('place' as const), payment: fc.constantFrom('invoice', 'stripe') }),
  fc.record({
    kind: fc.constant('move' as const),
    order: ids.order,
    to: fc.constantFrom('paid', 'failed', 'cancelled', 'refunded'),
  }),
  fc.record({
    kind: fc.constant('report' as const),
    ...ids,
    report: fc.constantFrom('open', 'expired', 'failed', 'paid', 'refunded'),
  }),
);

async function perform(store: AccountStore, account_id: string, one: Step): Promise<void> {
  if (one.kind === 'place') {
    await store.orders.create(account_id, 'small', one.payment);
    return;
  }
  const found = await redis.zrange('orders', '0', '-1');
  const order_id = found[one.order % Math.max(1, found.length)];
  if (order_id === undefined) return;
  if (one.kind === 'move') await store.orders.move(order_id, one.to);
  else {
    const isRefund = one.report === 'refunded';
    await store.orders.settle(order_id, {
      kind: one.report,
      session_id: isRefund ? '' : `cs_${one.id}`,
      payment_id: one.report === 'paid' || isRefund ? `pi_${one.id}` : '',
    });
  }
}

/** Refusals and lost connections are part of the game; anything else is a fault. */
function expectRefusal(error: unknown): void {
  if (error instanceof AccountError || String(error).includes('Connection is closed')) return;
  throw error;
}

/** Reads the register without the code that wrote it, and holds it against the orders. */
async function expectSoundRegister(): Promise<Map<string, string>> {
  const documents = new Map<string, string>();
  for (const [year, last] of Object.entries(await redis.hgetall('{invoices}:last'))) {
    const stored = await redis.hgetall(`{invoices}:y:${year}`);
    const expected = Array.from(
      { length: Number(last) },
      (_, index) => `${year}-${String(index + 1).padStart(6, '0')}`,
    );
    expect(Object.keys(stored).sort()).toEqual(expected);
    for (const [number, json] of Object.entries(stored)) documents.set(number, json);
  }
  const listed = Object.values(await redis.hgetall('{invoices}:of-orders')).flatMap((text) =>
    text.split(' '),
  );
  expect(listed.sort()).toEqual([...documents.keys()].sort());
  return documents;
}

async function expectBooks(documents: ReadonlyMap<string, string>): Promise<void> {
  const sums = new Map<string, number[]>();
  for (const [, json] of [...documents].sort()) {
    const { order_id, kind, gross_minor } = issuedDocument.parse(JSON.parse(json));
    expect(Math.sign(gross_minor)).toBe(kind === 'invoice' ? 1 : -1);
    sums.set(order_id, [...(sums.get(order_id) ?? []), gross_minor]);
  }
  const store = openStore(redis);
  for (const order of await store.orders.listAll({ limit: 1_000 })) {
    const amounts = sums.get(order.order_id) ?? [];
    // Invoice and credit note by turns.
    expect(amounts.every((amount, index) => Math.sign(amount) === (index % 2 === 0 ? 1 : -1))).toBe(true);
    const isDue = order.state === 'paid' || (order.state === 'pending' && order.payment === 'invoice');
    const total = amounts.reduce((sum, amount) => sum + amount, 0);
    expect({ order, total }).toEqual({ order, total: isDue ? order.price_minor : 0 });
  }
}

it('keeps the numbers without gaps and doubles, and the documents equal to the orders', async () => {
  const life = fc.record({
    steps: fc.array(step, { minLength: 1, maxLength: 8 }),
    dies: fc.option(fc.record({ at: fc.integer({ min: 1, max: 40 }), isSent: fc.boolean() })),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(life, { minLength: 2, maxLength: 4 }), async (lives) => {
      clock.ms = NOON_MS;
      await flushRedis(redis);
      const { account_id } = await openStore(redis).create({ email: 'ann@example.org', by: 'test' });
      // All lives run at once; some of them die in the middle.
      await Promise.all(
        lives.map(async ({ steps, dies }) => {
          const client = await server.connect();
          const store = openStore(client);
          if (dies) dieAt(client, dies.at, dies.isSent);
          for (const one of steps) await perform(store, account_id, one).catch(expectRefusal);
          client.disconnect();
        }),
      );
      const before = await expectSoundRegister();
      clock.ms += LATER_MS;
      await Promise.all([1, 2].map(() => openStore(redis).orders.invoices.sweep()));
      const after = await expectSoundRegister();
      for (const [number, json] of before) expect(after.get(number)).toBe(json);
      await expectBooks(after);
      expect(await redis.zcard('{invoices}:due')).toBe(0);
    }),
    { numRuns: cases(40) },
  );
});

it('starts with 1 in each year and never counts on from another', async () => {
  const store = openStore(redis);
  const { account_id } = await store.create({ email: 'ann@example.org', by: 'test' });
  const numberOf = async () => {
    const { order_id } = await store.orders.create(account_id, 'small');
    return (await store.orders.invoices.issuedOf(order_id)).map(({ number }) => number);
  };
  clock.ms = Date.UTC(2026, 11, 31, 23, 59, 59, 999);
  expect([await numberOf(), await numberOf()]).toEqual([['2026-000001'], ['2026-000002']]);
  clock.ms += 1;
  expect(await numberOf()).toEqual(['2027-000001']);
});

it('goes on from the highest number of the register, however far a restored counter is behind it', async () => {
  const numbers = { issued: fc.integer({ min: 1, max: 12 }), counted: fc.option(fc.nat(12)) };
  await fc.assert(
    fc.asyncProperty(fc.record(numbers), async ({ issued, counted }) => {
      await flushRedis(redis);
      const store = openStore(redis);
      const { account_id } = await store.create({ email: 'ann@example.org', by: 'test' });
      for (let made = 0; made < issued; made += 1) await store.orders.create(account_id, 'small');
      const before = await expectSoundRegister();
      expect(before.size).toBe(issued);
      if (counted === null) await redis.del('{invoices}:last');
      else await redis.hset('{invoices}:last', '2026', Math.min(counted, issued));
      await store.orders.create(account_id, 'small');
      await store.orders.create(account_id, 'small');
      const after = await expectSoundRegister();
      expect(after.size).toBe(issued + 2);
      for (const [number, json] of before) expect(after.get(number)).toBe(json);
    }),
    { numRuns: cases(20) },
  );
});

it('issues no second invoice for an order that another process refunds while it is looked at', async () => {
  const store = openStore(redis);
  const { account_id } = await store.create({ email: 'ann@example.org', by: 'test' });
  const { order_id } = await store.orders.create(account_id, 'small');
  await store.orders.move(order_id, 'paid');
  let isRefunded = false;
  const register = new InvoiceRegister({
    redis,
    now: () => clock.ms,
    random: seededRandom('register'),
    terms: DEFAULT_TERMS,
    readOrder: async (id) => {
      const order = await store.orders.get(id);
      if (!isRefunded) await openStore(redis).orders.move(id, 'refunded');
      isRefunded = true;
      return order;
    },
  });
  await register.follow(order_id, async () => {});
  const issued = await store.orders.invoices.issuedOf(order_id);
  expect(issued.map(({ kind }) => kind)).toEqual(['invoice', 'credit_note']);
});
