/** What operators see of invoices: the list of a year, its CSV and PDF files, what is overdue, and gaps in the numbers. */
import { expect, it } from 'vitest';
import { DAY_MS, redisKeys } from '../../data/schema/redis-keys.ts';
import { useAdmin, wordsOf } from './harness.ts';

const service = await useAdmin();
const { account_id } = await service.accounts.create({ email: 'ann@example.org', name: '=Ann', by: 'test' });
const orders: string[] = [];
for (const pack of ['starter', 'starter'])
  orders.push((await service.accounts.orders.create(account_id, pack)).order_id);
await service.accounts.orders.move(orders[0] ?? '', 'cancelled');
let operator = await service.signedIn();

const problems = async (): Promise<string> => {
  service.clock.ms += DAY_MS;
  operator = await service.signedIn();
  return wordsOf(await operator.get('/admin/reconcile'));
};

it('lists a year on the page and as CSV, with amounts that add up, and each as PDF', async () => {
  const year = new Date(service.clock.ms).getUTCFullYear();
  const page = wordsOf(await operator.get('/admin/invoices'));
  for (const part of [`${year}-000001`, `${year}-000003`, 'credit note', '-9.00 EUR', '9.00 EUR', '=Ann'])
    expect(page).toContain(part);
  const [header = '', ...rows] = (await operator.get(`/admin/invoices?year=${year}&format=csv`)).html
    .trim()
    .split('\r\n');
  const columns = header.split(',');
  const gross = rows.map((row) => Number(row.split(',')[columns.indexOf('gross_minor')]));
  expect(gross).toEqual([900, 900, -900]);
  expect(rows.every((row) => row.includes("'=Ann"))).toBe(true);
  const pdf = await operator.get(`/admin/invoices/${year}-000003/pdf`);
  expect([pdf.status, pdf.html.slice(0, 5)]).toEqual([200, '%PDF-']);
  expect((await operator.get(`/admin/invoices/${year}-000004/pdf`)).status).toBe(404);
  expect((await operator.get('/admin/invoices?year=soon')).status).toBe(422);
  expect(wordsOf(await operator.get(`/admin/invoices?year=${year - 1}`))).toContain('No invoices in');
});

it('shows when an open invoice is due, and when it is overdue', async () => {
  expect(wordsOf(await operator.get('/admin/orders'))).toMatch(/due \d{4}-\d\d-\d\d/);
  service.clock.ms += 31 * DAY_MS;
  operator = await service.signedIn();
  expect(wordsOf(await operator.get('/admin/orders'))).toMatch(/overdue since \d{4}-\d\d-\d\d/);
});

it('names gaps, strays and invoices that wait when the books are reconciled', async () => {
  expect(await problems()).not.toContain('Invoice problems');
  const [of_orders, last] = [redisKeys.invoicesOfOrders, redisKeys.invoicesLast];
  const [year = ''] = await service.client.hkeys(last);
  const key = redisKeys.invoices(year);
  const second = `${year}-000002`;
  const document = String(await service.client.hget(key, second));
  const listing = String(await service.client.hget(of_orders, orders[1] ?? ''));

  await service.client.hdel(key, second);
  expect(await problems()).toContain(`1 invoices missing: ${second}`);
  await service.client.hset(key, second, document);

  await service.client.hdel(of_orders, orders[1] ?? '');
  expect(await problems()).toContain(`1 invoices not listed with an order: ${second}`);
  await service.client.hset(of_orders, orders[1] ?? '', `${listing} ${listing}`);
  expect(await problems()).toContain(`1 invoices listed twice: ${second}`);
  await service.client.hset(of_orders, orders[1] ?? '', listing);

  await service.client.hset(last, year, 2);
  expect(await problems()).toContain(`1 invoices beyond the last number: ${year}-000003`);
  await service.client.hset(last, year, 3);

  await service.client.zadd(redisKeys.invoicesDue, service.clock.ms, 'ord_x mark');
  expect(await problems()).toContain('changes of orders that wait for their invoices: 1');
  expect(wordsOf(await operator.get('/admin/'))).toContain('The invoices have problems');
  await service.client.zrem(redisKeys.invoicesDue, 'ord_x mark');
  expect(await problems()).not.toContain('Invoice problems');
});
