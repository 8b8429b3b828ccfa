/** GET /admin/reconcile shows what the reconciliation finds; `reconcile.test.ts` has every kind of corruption. */
import { beforeEach, expect, it } from 'vitest';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { NOON, useAdmin, wordsOf } from './harness.ts';

let id: string;
let email: string;
let created = 0;

const service = await useAdmin();
const operator = await service.signedIn();

/** Three accounts. Tests corrupt only the last. */
beforeEach(async () => {
  await service.client.del(redisKeys.accounts);
  for (let count = 0; count < 3; count += 1) {
    email = `person-${created++}@example.org`;
    id = (await service.accounts.create({ email, verified: true, credits: 500, by: 'test' })).account_id;
    await service.charge(id, [{ price: 7 }]);
  }
});

/** The lines of the report, without the header. */
async function report(): Promise<string[]> {
  const { html } = await operator.get('/admin/reconcile?format=csv');
  return html.trim().split('\r\n').slice(1);
}

it('finds no discrepancy after a refund beyond the balance or in an empty account', async () => {
  await service.accounts.create({ email: 'empty@example.org', by: 'test' });
  const { account_id } = await service.accounts.create({ email: 'short@example.org', by: 'test' });
  const { order_id } = await service.accounts.orders.create(account_id, 'starter');
  await service.accounts.orders.move(order_id, 'paid');
  await service.accounts.adjust(account_id, { delta: -4_000, by: 'test' });
  await service.accounts.orders.move(order_id, 'refunded');
  expect((await service.accounts.orders.get(order_id)).shortfall).toBe(4_000);
  expect(await report()).toEqual([]);
});

const moments = async () =>
  (await service.accounts.ledger(id)).map(({ at_ms }) => new Date(at_ms).toISOString());

it('reports a balance that differs from the sum of the ledger, and by how much', async () => {
  await service.client.hincrby(redisKeys.account(id), 'balance', 25);
  await service.client.hincrby(redisKeys.account(id), 'granted', 25);
  const [line, ...more] = await report();
  expect(more).toEqual([]);
  expect(line).toContain(`${id},${email},balance,balance against the sum of the ledger,518,493,25,`);
  expect(await moments()).toContain(line?.split(',').at(-1));
  const page = await operator.get('/admin/reconcile');
  expect(wordsOf(page)).toContain('1 discrepancy in 3 accounts');
  expect(page.html).toContain(email);
  service.clock.ms += 700_000;
  expect(wordsOf(await operator.get('/admin/'))).toContain(
    `Accounts do not reconcile: 1 discrepancy (${email})`,
  );
  service.clock.ms = NOON;
});

it('raises no false alarm during paid calls', async () => {
  const calls = service.charge(id, Array(200).fill({}));
  expect(await Promise.all([report(), report()])).toEqual([[], []]);
  await calls;
  expect(await report()).toEqual([]);
});
