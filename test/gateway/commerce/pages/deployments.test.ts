/** A customer's whole life, on a Redis Cluster and across a restart of Redis. */
import { expect, it } from 'vitest';
import { wordsOf } from '../../../admin/harness.ts';
import { startRedis } from '../../../redis.ts';
import { booksOf } from '../../api/metering/harness.ts';
import { type AccountPagesHarness, type Customer, PASSWORD, startAccountPages } from './harness.ts';
import { readExport } from './read-export.ts';

interface CustomerWithKey extends Customer {
  key: string;
}

/** From sign-up to the first order. */
async function signUpAndOrder(harness: AccountPagesHarness): Promise<CustomerWithKey> {
  const customer = await harness.register();
  const { visitor } = customer;
  const stored = await harness.context.persons.get(customer.person_id);
  expect(stored?.password).toMatch(/^scrypt\$32768\$8\$1\$/);
  const { key } = await harness.makeKey(customer, { label: 'k' });
  expect((await harness.call(key)).status).toBe(200);
  expect((await harness.call(key)).status).toBe(402);
  await visitor.submit('/account/orders', '/account/orders', { pack: 'starter', payment: 'invoice' });
  await visitor.submit('/account/alerts', '/account/alerts/balance', { low_at: '5000' });
  await visitor.submit('/account/alerts', '/account/alerts/spending', { above: '0700', per: 'hour' });
  await visitor.submit('/account/alerts', '/account/alerts/changes', { renamed: '1' });
  expect((await visitor.get('/account/alerts')).html).toContain('value="700"');
  return { ...customer, key };
}

/** From the payment to the erasure. */
async function payAndErase(harness: AccountPagesHarness, customer: CustomerWithKey): Promise<void> {
  const { visitor, account_id, key, email } = customer;
  const [order] = await harness.accounts.orders.list(account_id);
  await harness.accounts.orders.move(String(order?.order_id), 'paid');
  const invoices = await harness.accounts.orders.invoices.issuedOf(String(order?.order_id));
  expect(invoices.map(({ kind, gross_minor }) => [kind, gross_minor])).toEqual([['invoice', 900]]);
  expect((await harness.call(key)).status).toBe(200);
  expect(wordsOf(await visitor.get('/account/wallet'))).toContain('9,999');
  const low = harness.mailbox.next(email, /below/);
  await harness.accounts.adjust(account_id, { delta: -5000, by: 'test' });
  await harness.handlers.sweep({});
  expect((await low).subject).toContain('below 5,000');
  const revoke = `/account/keys/${key.split('_')[2]}/revoke`;
  await visitor.submit(revoke, revoke, {});
  expect((await harness.call(key)).status).toBe(401);
  const held = await readExport(await visitor.download(await harness.exported(customer)));
  expect(held.ledger?.map(({ kind }) => kind)).toEqual([
    ...['admin_adjust', 'debit', 'purchase', 'debit', 'grant'],
  ]);
  await visitor.submit('/account/data', '/account/data/erasure', { password: PASSWORD });
  const erasure = (await harness.context.requests.listOf(account_id)).find(({ kind }) => kind === 'erasure');
  await harness.handlers.prepare({ request_id: String(erasure?.request_id) });
  await harness.runErasures();
  expect((await visitor.get('/account/')).status).toBe(401);
  expect(await harness.accounts.get(account_id)).toMatchObject({ state: 'closed', name: '' });
  const books = await booksOf({ redis: harness.redis, store: harness.accounts }, account_id);
  expect([books.balance, books.granted - books.spent]).toEqual([books.ledger, books.ledger]);
}

it('a customer signs up, pays, exports and is erased on a Redis Cluster', async () => {
  const settings = { FREE_GRANT: '1' };
  await using harness = await startAccountPages({ cluster: true, fullHashing: true, settings });
  await payAndErase(harness, await signUpAndOrder(harness));
});

it('a customer keeps account, key, order, alert and session across a restart of Redis', async () => {
  await using redis = await startRedis({ persistent: true });
  await using harness = await startAccountPages({ redis, fullHashing: true, settings: { FREE_GRANT: '1' } });
  const customer = await signUpAndOrder(harness);
  await redis.kill();
  expect((await customer.visitor.get('/account/')).status).toBe(503);
  await redis.restart();
  await expect.poll(async () => (await customer.visitor.get('/account/')).status).toBe(200);
  await expect.poll(async () => (await harness.call(customer.key)).status).toBe(402);
  await payAndErase(harness, customer);
});
