/** Billing details and invoices on the account pages: who sees what, what an erasure keeps, what prices contain. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import { wordsOf } from '../../../admin/harness.ts';
import { type Customer, startAccountPages, useAccountPages } from './harness.ts';
import { readExport } from './read-export.ts';

const BILLING = { name: 'Ann & Sons', address: '1 Street\nTown', country: 'FR', vat_id: 'FR12 345678901' };

const harness = await useAccountPages({
  settings: { INVOICE_COUNTRY: 'DE', INVOICE_VAT_ID: 'DE123456789', INVOICE_VAT_RATE: '19' },
});
const ann = await harness.customer('Ann');
const bob = await harness.customer('Bob');

const save = (who: Customer, change: Partial<typeof BILLING> = {}) =>
  who.visitor.submit('/account/billing', '/account/billing', { ...BILLING, ...change });

/** Number and order of a new invoice. */
async function placeOrder(who: Customer): Promise<{ number: string; order_id: string }> {
  const { order_id } = await harness.context.accounts.orders.create(who.account_id, 'starter');
  const [document] = await harness.context.accounts.orders.invoices.issuedOf(order_id);
  return { order_id, number: document?.number ?? '' };
}

it('billing details are kept as typed when they are refused, and shown on the next invoice', async () => {
  const refused = await save(ann, { vat_id: 'FR1' });
  expect(refused.status).toBe(422);
  expect(wordsOf(refused)).toContain('VAT id: empty, or the VAT id of France, which begins with FR.');
  expect(refused.html).toContain('value="FR1"');
  expect(await harness.context.billing.get(ann.account_id)).toBeNull();
  await save(ann);
  const { number } = await placeOrder(ann);
  const page = wordsOf(await ann.visitor.get(`/account/invoices/${number}`));
  for (const part of ['Ann &amp; Sons', 'France', 'FR12345678901', 'Reverse charge'])
    expect(page).toContain(part);
});

it('invoices of other accounts, and numbers that nobody has, are 404 as page and as PDF', async () => {
  const { number, order_id } = await placeOrder(ann);
  const pdf = await ann.visitor.get(`/account/invoices/${number}/pdf`);
  expect([pdf.status, pdf.html.slice(0, 5)]).toEqual([200, '%PDF-']);
  for (const path of [
    ...[`/account/invoices/${number}`, `/account/invoices/${number}/pdf`],
    ...[`/account/orders/${order_id}/invoice`, '/account/invoices/2026-999999', '/account/invoices/x'],
  ])
    expect([path, (await bob.visitor.get(path)).status]).toEqual([path, 404]);
});

it('an export holds invoices and billing details; an erasure keeps the invoices alone', async () => {
  const carl = await harness.customer('Carl');
  await save(carl);
  const { order_id, number } = await placeOrder(carl);
  await harness.accounts.orders.move(order_id, 'paid');
  const { requests, privacy, accounts } = harness.context;
  const exported = await requests.open(carl.account_id, 'export');
  await privacy.prepare(exported.request_id);
  const file = await readExport(
    await readFile(join(harness.settings.EXPORT_DIR, `${exported.request_id}.zip`)),
  );
  expect(file.invoices).toMatchObject([{ number, order_id, vat: 'reverse_charge' }]);
  expect(file.billing).toMatchObject([{ country: 'FR', vat_id: 'FR12345678901' }]);
  const { request_id } = await requests.open(carl.account_id, 'erasure');
  await privacy.erasures.erase(request_id, { by: 'test' });
  expect((await requests.get(request_id)).plan).toContain('the invoices that were issued');
  expect(await harness.redis.exists(redisKeys.billing(carl.account_id))).toBe(0);
  expect((await accounts.get(carl.account_id)).name).toBe('');
  expect(await accounts.orders.invoices.get(number)).toMatchObject({
    buyer: { lines: ['Ann & Sons', '1 Street', 'Town', 'France'] },
  });
});

it.each(['INVOICE_FROM', 'INVOICE_PAY_TO'])(
  'takes no orders by invoice without %s, and says so',
  async (setting) => {
    const missing = setting === 'INVOICE_FROM' ? 'Almanac' : '';
    await using pages = await startAccountPages({ settings: { [setting]: missing } });
    const { visitor, account_id } = await pages.customer();
    const page = await visitor.get('/account/orders');
    expect(wordsOf(page)).toContain('Ordering is not available yet.');
    expect(page.html).not.toContain('name="pack"');
    const order = { pack: 'starter', payment: 'invoice' };
    expect((await visitor.submit('/account/orders', '/account/orders', order)).status).toBe(409);
    expect(await pages.accounts.orders.list(account_id)).toEqual([]);
    expect(wordsOf(await visitor.get('/pricing'))).toContain('Packs cannot be ordered yet');
    expect((await visitor.get('/pricing')).html).not.toContain('href="/account/orders"');
  },
);

it('offers orders on the page of prices once seller and bank details are set', async () => {
  const page = await ann.visitor.get('/pricing');
  expect(wordsOf(page)).toContain('Paid by invoice and bank transfer.');
  expect(page.html).toContain('href="/account/orders"');
});
