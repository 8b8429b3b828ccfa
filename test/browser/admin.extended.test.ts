/** Every page and form of the operator area in a real browser, each page inspected at every width, light and dark. */
import { randomBytes } from 'node:crypto';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { useAdmin } from '../admin/harness.ts';
import { seedAlike, seedRuns, seedUsage } from '../admin/seeds.ts';
import { codeAt } from '../gateway/commerce/authenticator.ts';
import { startAccountPages } from '../gateway/commerce/pages/harness.ts';
import { useBrowser } from './browser.ts';
import { follow, inspect, signIn, signInHere, unseenPages } from './page-checks.ts';

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
page.on('console', (message) => {
  if (message.type() === 'error') consoleErrors.push(message.text());
});

/** Answers a confirmation page. */
async function confirm(name: string, button: string, reason?: string): Promise<void> {
  await inspect(page, name);
  if (reason !== undefined) await page.getByLabel(/^(Reason|Note)/).fill(reason);
  await page.getByRole('button', { name: button }).click();
}

it('signs in', async () => {
  await page.goto(`${service.url}/admin/users?q=amara`);
  await inspect(page, 'admin-sign-in');
  await signInHere(page, 'operator@example.org', 'not this one');
  await page.getByRole('alert').waitFor();
  await inspect(page, 'admin-sign-in-refused');
  await page.goto(`${service.url}/admin/sign-in/code`);
  await inspect(page, 'admin-sign-in-code');
  consoleErrors.length = 0; // browsers report a 401 as an error
  await signIn(page, service.url, 'operator@example.org');
});

it('shows the dashboard, and sends a test alert', async () => {
  await inspect(page, 'admin-dashboard');
  await page.getByRole('button', { name: 'Send a test alert' }).click();
  await page.getByText('A test alert is on its way.').waitFor();
});

it('lists indicators, edits one and unpublishes it', async () => {
  await follow(page, 'Indicators', '/admin/indicators');
  await page.getByText('International Energy Agency: IEA terms and conditions').waitFor();
  await inspect(page, 'admin-indicators');
  await page.locator('tbody th a').first().click();
  await page.waitForURL('**/admin/indicators/*');
  await inspect(page, 'admin-indicator');
  const { name } = await openStaleForm(page);
  await page.getByRole('button', { name: 'Save and rebuild' }).click();
  await page.getByText('Nothing of yours is saved yet.').waitFor();
  consoleErrors.length = 0; // browsers report a 409 as an error
  await inspect(page, 'admin-indicator-conflict');
  await page.getByLabel('Topic').selectOption('trade');
  await page.getByLabel('Direction').selectOption('lower is better');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('heading', { name: 'Public record after saving' }).waitFor();
  await inspect(page, 'admin-indicator-preview');
  await page.getByRole('button', { name: 'Save and rebuild' }).click();
  await page.getByText('The catalogue is being rebuilt').waitFor();
  await inspect(page, 'admin-indicator-edited');
  await page.getByRole('link', { name: 'Reset to upstream' }).click();
  await inspect(page, 'admin-indicator-reset');
  await page.getByRole('button', { name: 'Reset to upstream' }).click();
  await page.getByText('is as published upstream again').waitFor();
  expect(await page.getByLabel('Name').inputValue()).toBe(name);
  await page.getByLabel('Name').fill('A clearer name');
  await page.getByRole('button', { name: 'Save and rebuild' }).click();
  await page.getByText('The catalogue is being rebuilt').waitFor();
  await page.getByRole('link', { name: 'Unpublish and rebuild' }).click();
  await inspect(page, 'admin-indicator-unpublish');
  await page.getByLabel('Reason').fill('licence withdrawn');
  await page.getByRole('button', { name: 'Unpublish and rebuild' }).click();
  await page.getByText('is unpublished. The catalogue').waitFor();
  await inspect(page, 'admin-indicator-disabled');
});

it('shows the quality report', async () => {
  await follow(page, 'Quality', '/admin/quality');
  await inspect(page, 'admin-quality');
  await page.getByLabel('State').selectOption('accept');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByText('Rounded, "at the source".').waitFor();
});

it('shows runs, starts one and accepts a held one', async () => {
  await follow(page, 'Runs', '/admin/runs');
  await inspect(page, 'admin-runs');
  await page
    // Gapminder is running.
    .getByRole('button', { name: /^Re-run (?!Gapminder)/ })
    .first()
    .click();
  await page.getByText('is queued').waitFor();
  await page.getByRole('link', { name: /^undp/ }).click();
  await page.waitForURL('**/admin/runs/undp/**');
  await inspect(page, 'admin-run');
  await page.getByRole('link', { name: 'Accept run and publish' }).click();
  await confirm('admin-run-accept', 'Accept run and publish', 'read the source');
  await page.getByText('undp is queued').waitFor();
});

it('asks before it cancels a run, rebuilds or rolls back', async () => {
  await page.goto(`${service.url}/admin/runs?subject=gapminder`);
  await page
    .getByRole('link', { name: /^gapminder/ })
    .first()
    .click();
  await page.getByRole('link', { name: 'Cancel run' }).click();
  await confirm('admin-run-cancel', 'Cancel run');
  await page.getByText('The run stops within seconds.').waitFor();
  await follow(page, 'Snapshots', '/admin/snapshots');
  await inspect(page, 'admin-snapshots');
  await page.getByRole('link', { name: 'Rebuild from the lake' }).click();
  await confirm('admin-rebuild', 'Rebuild and publish', 'new licence');
  await page.getByText('A rebuild is queued.').waitFor();
  await page.goto(`${service.url}/admin/snapshots/${service.snapshots.current()?.id}/rollback`);
  await inspect(page, 'admin-rollback');
  await page.getByRole('link', { name: 'Cancel' }).click();
  await page.waitForURL('**/admin/snapshots');
});

it('finds an account, suspends and restores it', async () => {
  await follow(page, 'Users', '/admin/users');
  await inspect(page, 'admin-users');
  await page.getByLabel('E-mail, name or id contains').fill('AMARA');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByRole('link', { name: 'amara@example.org' }).click();
  await page.waitForURL('**/admin/users/acc_*');
  await inspect(page, 'admin-account');
  await page.getByRole('link', { name: 'Suspend account' }).click();
  await confirm('admin-account-suspend', 'Suspend account', 'sells the data');
  await page.getByText('The account is suspended.').waitFor();
  await page.getByRole('button', { name: 'Restore account' }).click();
  await page.getByText('The account is active.').waitFor();
});

it('shows accounts that signed up alike', async () => {
  await seedAlike(service);
  await follow(page, 'Users', '/admin/users');
  await page.getByRole('link', { name: 'Accounts that signed up alike' }).click();
  await page.getByText('2 accounts with one mailbox').waitFor();
  await inspect(page, 'admin-users-groups');
});

it('revokes a key of a customer', async () => {
  await page.goto(`${service.url}/admin/users/${accountId}`);
  await page.getByRole('link', { name: /^Revoke/ }).click();
  await confirm('admin-key-revoke', 'Revoke key', 'it was published in a repository');
  await page.getByText('The key is revoked.').waitFor();
  await inspect(page, 'admin-key-revoked');
});

it('clears the second factor of a member', async () => {
  const pages = await startAccountPages({ redis: service.redis });
  const { account_id, person_id, email } = await pages.customer();
  const { secondFactor } = pages.context.site;
  const { secret } = secondFactor.propose({ issuer: 'Almanac', label: email });
  await secondFactor.turnOn(person_id, { secret, code: codeAt(secret, pages.clock.ms) });
  await pages.stop();
  await page.goto(`${service.url}/admin/users/${account_id}`);
  await page.getByRole('link', { name: /^Clear/ }).click();
  await confirm('admin-member-second-factor', 'Clear second factor', 'the phone is lost');
  await page.getByText('The second factor is cleared.').waitFor();
});

it('adjusts credits, and keeps the input of a rejected form', async () => {
  await page.goto(`${service.url}/admin/users/${accountId}`);
  await page.getByLabel('Credits').fill('1.5');
  await page.getByLabel('Reason').fill('goodwill');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('Credits must be a whole number').waitFor();
  await inspect(page, 'admin-credits-refused');
  expect(await page.getByLabel('Reason').inputValue()).toBe('goodwill');
  consoleErrors.length = 0; // browsers report a 422 as an error
  await page.getByLabel('Credits').fill('-100000');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: /^Take 100,000 credits from/ }).waitFor();
  await confirm('admin-credits-ask', 'Take credits');
  await page.getByRole('status').waitFor();
  await inspect(page, 'admin-credits-adjusted');
  expect((await service.accounts.get(accountId)).credits.balance).toBe(0);
});

it('marks an order paid', async () => {
  await follow(page, 'Orders', '/admin/orders');
  await inspect(page, 'admin-orders');
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
  await follow(page, 'Usage', '/admin/usage');
  await inspect(page, 'admin-usage');
  await follow(page, 'Reconciliation', '/admin/reconcile');
  await inspect(page, 'admin-reconcile');
  await follow(page, 'Dashboard', '/admin/');
});

it('closes a privacy request', async () => {
  await follow(page, 'Privacy', '/admin/gdpr');
  await inspect(page, 'admin-gdpr');
  await page.getByRole('link', { name: /^Erase/ }).click();
  await confirm('admin-erasure', 'Erase now', 'asked by letter');
  await page.getByRole('status').waitFor();
  expect((await service.requests.listOpen()).length).toBe(1);
});

it('shows the audit log and an error page, without console errors', async () => {
  await follow(page, 'Audit log', '/admin/audit');
  await inspect(page, 'admin-audit');
  expect(consoleErrors).toEqual([]);
  await page.goto(`${service.url}/admin/nothing`);
  await inspect(page, 'admin-not-found');
});

it('was inspected page by page', () => {
  const routes = service.routes.filter(({ url }) => !OTHER_PAGES.test(url) && !url.endsWith('/pdf'));
  expect(unseenPages(routes, '/admin')).toEqual([]);
});

it('signs out', async () => {
  await page.goto(`${service.url}/admin/`);
  await page.getByRole('button', { name: 'Account: operator@example.org' }).click();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
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
  await page.getByLabel('Name').fill('A name from a stale form');
  return { name };
}
