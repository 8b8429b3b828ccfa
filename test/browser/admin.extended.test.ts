/** Every page and form of the operator area in a real browser, each page inspected at every width, light and dark. */
import { randomBytes } from 'node:crypto';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { useAdmin } from '../admin/harness.ts';
import { seedAlike, seedRuns, seedUsage } from '../admin/seeds.ts';
import { codeAt } from '../gateway/commerce/authenticator.ts';
import { startAccountPages } from '../gateway/commerce/pages/harness.ts';
import { useBrowser } from './browser.ts';
import { follow, inspect, signIn, signInHere, unseenPages, walker } from './page-checks.ts';

/** `admin-decisions.extended.test.ts`, `reader-operator.extended.test.ts` and `connect.extended.test.ts` walk these. */
const OTHER_PAGES =
  /^\/admin\/(operators|password|second-factor|providers|licences|runs\/compare|usage\/customers|quality\/decide|users\/:id\/connections)\b/;

/** Nothing delivers them here. */
const ALERTS = {
  OPERATOR_ALERT_EMAIL: 'night-shift-of-operations@almanac.example.org',
  OPERATOR_WEBHOOK_URL: 'https://hooks.example.org/alerts',
  OPERATOR_WEBHOOK_SECRET: `whsec_${randomBytes(32).toString('base64')}`,
};

const consoleErrors: string[] = [];

const service = await useAdmin(ALERTS);
await service.signedIn();
const accountId = await seedUsage(service);
await seedRuns(service);
const browser = await useBrowser();
const page = await browser.context.newPage();
const { go, press, open, shows, heading, fill } = walker(page, service.url);
page.on('console', (message) => {
  if (message.type() === 'error') consoleErrors.push(message.text());
});

/** Answers a confirmation page. */
async function confirm(name: string, button: string, reason?: string): Promise<void> {
  await inspect(page, name);
  if (reason !== undefined) await page.getByLabel(/^(Reason|Note)/).fill(reason);
  await press(button);
}

it('signs in', async () => {
  await go('/admin/users?q=amara', 'admin-sign-in');
  await signInHere(page, 'operator@example.org', 'not this one');
  await page.getByRole('alert').waitFor();
  await inspect(page, 'admin-sign-in-refused');
  await go('/admin/sign-in/code', 'admin-sign-in-code');
  consoleErrors.length = 0; // browsers report a 401 as an error
  await signIn(page, service.url, 'operator@example.org');
});

it('shows the dashboard, and sends a test alert', async () => {
  await inspect(page, 'admin-dashboard');
  await press('Send a test alert');
  await shows('A test alert is on its way.');
});

it('lists indicators, edits one and unpublishes it', async () => {
  await follow(page, 'Indicators', '/admin/indicators');
  await shows('International Energy Agency: IEA terms and conditions', 'admin-indicators');
  await page.locator('tbody th a').first().click();
  await page.waitForURL('**/admin/indicators/*');
  await inspect(page, 'admin-indicator');
  const { name } = await openStaleForm(page);
  await press('Save and rebuild');
  await shows('Nothing of yours is saved yet.');
  consoleErrors.length = 0; // browsers report a 409 as an error
  await inspect(page, 'admin-indicator-conflict');
  await page.getByLabel('Topic').selectOption('trade');
  await page.getByLabel('Direction').selectOption('lower is better');
  await press('Preview');
  await heading('Public record after saving', 'admin-indicator-preview');
  await press('Save and rebuild');
  await shows('The catalogue is being rebuilt', 'admin-indicator-edited');
  await open('Reset to upstream', 'admin-indicator-reset');
  await press('Reset to upstream');
  await shows('is as published upstream again');
  expect(await page.getByLabel('Name').inputValue()).toBe(name);
  await fill({ Name: 'A clearer name' });
  await press('Save and rebuild');
  await shows('The catalogue is being rebuilt');
  await open('Unpublish and rebuild', 'admin-indicator-unpublish');
  await fill({ Reason: 'licence withdrawn' });
  await press('Unpublish and rebuild');
  await shows('is unpublished. The catalogue', 'admin-indicator-disabled');
});

it('shows the quality report', async () => {
  await follow(page, 'Quality', '/admin/quality', 'admin-quality');
  await page.getByLabel('State').selectOption('accept');
  await press('Filter');
  await shows('Rounded, "at the source".');
});

it('shows runs, starts one and accepts a held one', async () => {
  await follow(page, 'Runs', '/admin/runs', 'admin-runs');
  await page
    // Gapminder is running.
    .getByRole('button', { name: /^Re-run (?!Gapminder)/ })
    .first()
    .click();
  await shows('is queued');
  await open(/^undp/);
  await page.waitForURL('**/admin/runs/undp/**');
  await inspect(page, 'admin-run');
  await open('Accept run and publish');
  await confirm('admin-run-accept', 'Accept run and publish', 'read the source');
  await shows('undp is queued');
});

it('asks before it cancels a run, rebuilds or rolls back', async () => {
  await go('/admin/runs?subject=gapminder');
  await page
    .getByRole('link', { name: /^gapminder/ })
    .first()
    .click();
  await open('Cancel run');
  await confirm('admin-run-cancel', 'Cancel run');
  await shows('The run stops within seconds.');
  await follow(page, 'Snapshots', '/admin/snapshots', 'admin-snapshots');
  await open('Rebuild from the lake');
  await confirm('admin-rebuild', 'Rebuild and publish', 'new licence');
  await shows('A rebuild is queued.');
  await go(`/admin/snapshots/${service.snapshots.current()?.id}/rollback`, 'admin-rollback');
  await open('Cancel');
  await page.waitForURL('**/admin/snapshots');
});

it('finds an account, suspends and restores it', async () => {
  await follow(page, 'Users', '/admin/users', 'admin-users');
  await fill({ 'E-mail, name or id contains': 'AMARA' });
  await press('Search');
  await open('amara@example.org');
  await page.waitForURL('**/admin/users/acc_*');
  await inspect(page, 'admin-account');
  await open('Suspend account');
  await confirm('admin-account-suspend', 'Suspend account', 'sells the data');
  await shows('The account is suspended.');
  await press('Restore account');
  await shows('The account is active.');
});

it('shows accounts that signed up alike', async () => {
  await seedAlike(service);
  await follow(page, 'Users', '/admin/users');
  await open('Accounts that signed up alike');
  await shows('2 accounts with one mailbox', 'admin-users-groups');
});

it('revokes a key of a customer', async () => {
  await go(`/admin/users/${accountId}`);
  await open(/^Revoke/);
  await confirm('admin-key-revoke', 'Revoke key', 'it was published in a repository');
  await shows('The key is revoked.', 'admin-key-revoked');
});

it('clears the second factor of a member', async () => {
  const pages = await startAccountPages({ redis: service.redis });
  const { account_id, person_id, email } = await pages.customer();
  const { secondFactor } = pages.context.site;
  const { secret } = secondFactor.propose({ issuer: 'Almanac', label: email });
  await secondFactor.turnOn(person_id, { secret, code: codeAt(secret, pages.clock.ms) });
  await pages.stop();
  await go(`/admin/users/${account_id}`);
  await open(/^Clear/);
  await confirm('admin-member-second-factor', 'Clear second factor', 'the phone is lost');
  await shows('The second factor is cleared.');
});

it('adjusts credits, and keeps the input of a rejected form', async () => {
  await go(`/admin/users/${accountId}`);
  await fill({ Credits: '1.5', Reason: 'goodwill' });
  await press('Continue');
  await shows('Credits must be a whole number', 'admin-credits-refused');
  expect(await page.getByLabel('Reason').inputValue()).toBe('goodwill');
  consoleErrors.length = 0; // browsers report a 422 as an error
  await fill({ Credits: '-100000' });
  await press('Continue');
  await heading(/^Take 100,000 credits from/);
  await confirm('admin-credits-ask', 'Take credits');
  await page.getByRole('status').waitFor();
  await inspect(page, 'admin-credits-adjusted');
  expect((await service.accounts.get(accountId)).credits.balance).toBe(0);
});

it('marks an order paid', async () => {
  await follow(page, 'Orders', '/admin/orders', 'admin-orders');
  await page.getByRole('main').getByRole('link', { name: 'Invoices by year' }).click();
  await inspect(page, 'admin-invoices');
  await follow(page, 'Orders', '/admin/orders');
  await page
    .getByRole('link', { name: /Mark paid/ })
    .first()
    .click();
  await confirm('admin-order-paid', 'Mark paid', 'transfer of 21 November');
  await page.getByRole('status').waitFor();
  expect((await service.accounts.orders.listAll({ state: 'pending' })).length).toBe(1);
});

it('shows usage and reconciliation discrepancies', async () => {
  await follow(page, 'Usage', '/admin/usage', 'admin-usage');
  await follow(page, 'Reconciliation', '/admin/reconcile', 'admin-reconcile');
  await follow(page, 'Dashboard', '/admin/');
});

it('closes a privacy request', async () => {
  await follow(page, 'Privacy', '/admin/gdpr', 'admin-gdpr');
  await open(/^Erase/);
  await confirm('admin-erasure', 'Erase now', 'asked by letter');
  await page.getByRole('status').waitFor();
  expect((await service.requests.listOpen()).length).toBe(1);
});

it('shows the audit log and an error page, without console errors', async () => {
  await follow(page, 'Audit log', '/admin/audit', 'admin-audit');
  expect(consoleErrors).toEqual([]);
  await go('/admin/nothing', 'admin-not-found');
});

it('was inspected page by page', () => {
  const routes = service.routes.filter(({ url }) => !OTHER_PAGES.test(url) && !url.endsWith('/pdf'));
  expect(unseenPages(routes, '/admin')).toEqual([]);
});

it('signs out', async () => {
  await go('/admin/');
  await press('Account: operator@example.org');
  await press(/^Sign out$/);
  await heading('Sign in');
});

/** Opens the edit form, saves another name in a second window, and fills in the first. @returns the original name */
async function openStaleForm(page: Page): Promise<{ name: string }> {
  const other = await page.context().newPage();
  await other.goto(page.url());
  const name = await other.getByLabel('Name').inputValue();
  await other.getByLabel('Name').fill('Named by somebody else');
  await other.getByRole('button', { name: 'Save and rebuild' }).click();
  await other.getByText('The catalogue is being rebuilt').waitFor();
  await other.close();
  await fill({ Name: 'A name from a stale form' });
  return { name };
}
