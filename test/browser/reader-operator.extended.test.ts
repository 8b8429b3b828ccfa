/**
 * An operator at the end of a month, from sign-in to the last finding: money, an order found by what the bank statement names,
 * licences of a collector, findings of the night, and who used what.
 */
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { RunReporter } from '../../build/jobs/run-reporter.ts';
import type { ExcludedIndicator } from '../../data/schema/jobs.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import { DAY_MS, redisKeys } from '../../data/schema/redis-keys.ts';
import { BillingStore } from '../../gateway/commerce/orders/billing-details.ts';
import { PASSWORD, useAdmin } from '../admin/harness.ts';
import { ACCEPTED, LAPSED, OPEN, UNPUBLISHED } from '../admin/quality-findings.ts';
import { useBrowser } from './browser.ts';
import { follow, inspect, signInHere, unseenPages, walker } from './page-checks.ts';

const IEA = 'International Energy Agency: IEA terms and conditions';
const service = await useAdmin({ INVOICE_FROM: 'Example Ltd', INVOICE_PAY_TO: 'IBAN XX00' });
const { accounts, client, clock } = service;

/** The invoice of a customer who pays under another name, placed weeks ago. */
async function placeOldOrder(): Promise<{ number: string; account_id: string }> {
  const now = () => clock.ms;
  const { account_id } = await accounts.create({
    email: 'ann@example.org',
    name: 'Ann',
    credits: 50,
    by: 'test',
  });
  const payer = { name: 'Wharf & Sons GmbH', address: ['1 Quay'], country: 'DE', country_name: 'Germany' };
  const billing = new BillingStore({ redis: client, now, random: randomBytes });
  await billing.set(account_id, { ...payer, vat_id: 'DE811907980' });
  const today = clock.ms;
  clock.ms = today - 35 * DAY_MS;
  const { order_id } = await accounts.orders.create(account_id, 'starter');
  clock.ms = today;
  const [invoice] = await accounts.orders.invoices.issuedOf(order_id);
  return { number: invoice?.number ?? '', account_id };
}

async function seedNight(): Promise<void> {
  const reporter = new RunReporter(client, () => clock.ms);
  const series = (name: string): ExcludedIndicator => ({
    id: `gapminder.${name.toLowerCase().replaceAll(' ', '_')}`,
    name,
    unit: 'kWh',
    topic: 'energy',
    provider: 'gapminder',
    why: 'not redistributable',
    detail: IEA,
  });
  reporter.onExcluded(['Energy use', 'Oil use', 'Coal use'].map(series));
  const reported_at = formatTimestamp(clock.ms);
  const findings = [OPEN, ACCEPTED, LAPSED, UNPUBLISHED];
  reporter.onQuality({ night: '2026-11-21', reported_at, findings, unused: [] });
  await reporter.flush();
  await reporter.close();
}

const { number, account_id } = await placeOldOrder();
await seedNight();
const { key } = await accounts.keys.mint(account_id);
const [record] = [...(service.snapshots.current()?.catalogue.indicators.values() ?? [])]
  .map((one) => one.record)
  .filter(({ access_tier }) => access_tier === 'open');
const called = await fetch(`${service.url}/v1/data?indicator=${record?.id}&countries=KEN`, {
  headers: { authorization: `Bearer ${key}` },
});
await service.metering.flush();
await service.operators.put('operator@example.org', 'operator', PASSWORD);
const browser = await useBrowser();
const page = await browser.context.newPage();
const { go, press, open, shows, heading, fill } = walker(page, service.url);
const consoleErrors: string[] = [];

it('signs in and sees money first, then what is not set up and what needs attention', async () => {
  expect(called.status).toBe(200);
  await go('/admin/');
  await signInHere(page, 'operator@example.org', PASSWORD);
  await heading('Dashboard');
  page.on('console', (message) => {
    if (message.type() === 'error') consoleErrors.push(message.text());
  });
  await inspect(page, 'reader-operator-dashboard');
  const headings = await page.getByRole('main').getByRole('heading', { level: 2 }).allTextContents();
  expect(headings.slice(0, 3)).toEqual(['Money', 'Not set up yet', 'Needs attention']);
  const money = page.locator('#money');
  expect(await money.textContent()).toMatch(/Overdue\s*9\.00 EUR · 1 order/);
  expect(await page.locator('#set-up').textContent()).not.toContain('Ordering by invoice is off');
});

it('finds the order by the number on the bank statement and by the payer, and marks it paid', async () => {
  await follow(page, 'Orders', '/admin/orders');
  const search = page.getByRole('searchbox');
  for (const words of ['wharf', number]) {
    await search.fill(words);
    await press('Filter');
    // The page before has the link, too.
    await page.waitForURL(({ searchParams }) => searchParams.get('q') === words);
    await page.getByRole('link', { name: number }).waitFor();
    expect(await page.getByRole('link', { name: /^Mark paid/ }).count()).toBe(1);
  }
  await inspect(page, 'reader-operator-orders');
  await open(/^Mark paid/);
  await fill({ Reason: 'statement of 30 November' });
  await inspect(page, 'reader-operator-paid');
  await press('Mark paid');
  await shows('is paid; the balance is');
  await follow(page, 'Dashboard', '/admin/');
  expect(await page.locator('#money').textContent()).toMatch(/Paid in 2026-11\s*9\.00 EUR · 1 order/);
});

it('decides all licences of a collector after a preview, and takes it back', async () => {
  await follow(page, 'Licences', '/admin/licences');
  await open('Decide by collector', 'reader-operator-collectors');
  await open(IEA);
  await page.getByLabel('Decision').selectOption('display');
  await page.getByRole('textbox', { name: /^Licence/ }).fill('Permission of the IEA');
  await page.getByLabel(/^Reason/).fill('letter of 1 November');
  await press('Preview');
  await shows('3 series become display only.', 'reader-operator-licences');
  await press('Decide and rebuild');
  await shows('3 series are decided as display.');
  await page.getByLabel('Which series').selectOption('display');
  await page.getByLabel('Decision').selectOption('withhold');
  await page.getByLabel(/^Reason/).fill('the letter was about another product');
  await press('Preview');
  await shows('3 series become withheld.');
  await press('Decide and rebuild');
  await shows('3 series are decided as withhold.', 'reader-operator-taken-back');
});

it('decides findings: a group at once, one snoozed', async () => {
  await follow(page, 'Quality', '/admin/quality');
  await page.getByLabel('Group').selectOption('check');
  await press('Filter');
  await page.waitForURL(/=check/);
  await inspect(page, 'reader-operator-groups');
  await open(/^Decide 1 of share out of range, alpha/, 'reader-operator-decide');
  await page.getByLabel(/^Reason/).fill('gross enrolment may exceed 100 %');
  await press('Decide');
  await shows('1 finding is decided: accept.');
  await open(/^Decide ?: The series could not be read/);
  await page.getByLabel('Decision').selectOption('snooze');
  await page.getByLabel(/^Until/).fill('2026-12-15');
  await page.getByLabel(/^Reason/).fill('they promised a new file');
  await press('Decide');
  await shows('1 finding is snoozed until 2026-12-15.', 'reader-operator-quality');
  expect(await client.hlen(redisKeys.findingDecisions)).toBe(2);
});

it('sees who used what', async () => {
  await follow(page, 'Usage', '/admin/usage');
  await open('Usage by customer and indicator', 'reader-operator-usage');
  await open(record?.id ?? '');
  await heading(`Customers of ${record?.id}`);
  await open('ann@example.org');
  await page.getByText('Used 1 indicator').click();
  await inspect(page, 'reader-operator-account');
});

it('saw each page of the walk, without console errors', () => {
  expect(consoleErrors).toEqual([]);
  const roots = ['licences/collectors', 'usage/customers', 'quality/decide'];
  expect(roots.flatMap((root) => unseenPages(service.routes, `/admin/${root}`))).toEqual([]);
});
