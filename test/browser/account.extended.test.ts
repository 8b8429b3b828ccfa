/** The account pages in a real browser, from sign-up to erasure, each page inspected at every width, light and dark. */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { run } from '../../admin/cli.ts';
import { codeAt, STEP_MS } from '../gateway/commerce/authenticator.ts';
import { deliver, eventText, stripeSettings, useFakeStripe } from '../gateway/commerce/pages/fake-stripe.ts';
import { PASSWORD, useAccountPages } from '../gateway/commerce/pages/harness.ts';
import { readExport } from '../gateway/commerce/pages/read-export.ts';
import { screenshotPath, useBrowser } from './browser.ts';
import { inspect, signInHere, unseenPages, walker } from './page-checks.ts';
import { walkTeam } from './team-walk.ts';
import { walkWebhooks } from './webhooks-walk.ts';

const EMAIL = 'ann@example.org';
/** Files, redirections, the summary that public pages read, and what `invoices.extended.test.ts` and `connect.extended.test.ts` walk. */
const NO_PAGE = /\/(download|summary|invoice|pdf|billing)$|\/connect/;
const CONTACT = 'help@almanac.example';

const consoleErrors: string[] = [];

const stripe = await useFakeStripe();
const harness = await useAccountPages({
  settings: {
    ...stripeSettings(stripe),
    FREE_GRANT: '2',
    WEBHOOK_PRIVATE_TARGETS: 'true',
    CONTACT_EMAIL: CONTACT,
    INVOICE_FROM: 'Almanac Ltd\n1 Example Street\nExampletown',
    INVOICE_PAY_TO: 'IBAN XX00 0000 0000 0000\nAlmanac Ltd',
  },
});
const browser = await useBrowser();
const page = await browser.context.newPage();
const { button, go, press, open, shows, heading, fill } = walker(page, harness.url);
page.on('console', (message) => {
  // The page of the fake Stripe is not ours. Browsers report refusals, which some steps provoke, as errors.
  const isOurs = message.location().url.startsWith(harness.url);
  if (message.type() === 'error' && isOurs && !/40[19]|410|422/.test(message.text()))
    consoleErrors.push(message.text());
});

/** Does what the periodic job does. @returns the link of the mail that comes with that subject */
async function toldLink(email: string, subject: RegExp): Promise<string> {
  const mail = harness.mailbox.next(email, subject);
  await harness.handlers.sweep({});
  return String((await mail).link);
}

const callStatus = async (key: string, path?: string) => (await harness.call(key, path)).status;

/** `npm run account`, beside the gateway. @returns what it prints */
async function commandLine(...argv: string[]): Promise<string> {
  let printed = '';
  const { REDIS_URL, VAR_DIR } = harness.settings;
  const stdout = { write: (text: string) => (printed += text) };
  expect(await run(argv, { env: { REDIS_URL, VAR_DIR }, stdout, stderr: process.stderr })).toBe(0);
  return printed;
}

async function signIn(email: string, path = '/account/sign-in'): Promise<void> {
  await go(path);
  await signInHere(page, email, PASSWORD);
}

/** A new customer in a browser without cookies, signed in on the way to a page. */
async function signedIn(name: string, path?: string): Promise<string> {
  const { email } = await harness.customer(name);
  await page.context().clearCookies();
  await signIn(email, path);
  return email;
}

describe('a customer, from sign-up to erasure', () => {
  let key = '';

  it('signs up, confirms the mailed link and is signed in', async () => {
    await go('/account/', 'account-sign-in');
    await open('Create one', 'account-sign-up');
    await fill({ 'E-mail address': EMAIL, Name: 'Ann <Example>' });
    const mail = harness.mailbox.next(EMAIL);
    await press('Create account');
    await heading('Check your e-mail', 'account-mailed');
    await go(String((await mail).link), 'account-confirm');
    await fill({ Password: '1234567890' });
    await press('Create account');
    await shows('common passwords', 'account-confirm-common');
    await fill({ Password: PASSWORD });
    await page.getByLabel('Create a first key at once').uncheck();
    await press('Create account');
    await heading('Your account is ready', 'account-confirmed');
    await go('/account/');
    await heading('Ann <Example>', 'account-home-new');
  });

  it('creates a key, which is shown on this page only, and a reload creates no second one', async () => {
    await open('Create your first key', 'account-keys-none');
    await fill({ Label: '<i>my</i> notebook', 'Last day': '2027-01-31' });
    await press('Create key');
    await heading('Your new key');
    await page.reload();
    await inspect(page, 'account-key-made');
    [key = ''] = await page.locator('pre').allTextContents();
    expect(key).toMatch(/^alm_live_/);
    const { account_id } = await harness.accounts.findByEmail(EMAIL);
    expect(await harness.accounts.keys.list(account_id)).toMatchObject([{ last4: key.slice(-4) }]);
    expect(await page.locator('pre').nth(1).textContent()).toBe(
      `curl -H 'Authorization: Bearer ${key}' ${harness.url}/v1/ping`,
    );
    await go('/account/keys');
    expect(await page.content()).not.toContain(key);
    await inspect(page, 'account-keys');
    await open(/^alm_live_/, 'account-key');
  });

  it('calls the API until the credits are spent', async () => {
    expect(await callStatus(key, '/v1/ping')).toBe(200);
    expect(await callStatus(key)).toBe(200);
    expect(await callStatus(key)).toBe(200);
    expect(await callStatus(key)).toBe(402);
  });

  it('buys credits by invoice and by card', async () => {
    await go('/account/orders', 'account-orders-none');
    await page.getByLabel('Invoice and bank transfer').check();
    await press('Place order');
    await heading('Invoice', 'account-invoice');
    await page.pdf({ path: screenshotPath('account-invoice').replace('.png', '.pdf') });
    await open('Back to the order', 'account-order');
    await open('Cancel order', 'account-order-cancel');
    await open(/^Cancel$/);
    const [placed] = await harness.context.accounts.orders.list(
      (await harness.accounts.findByEmail(EMAIL)).account_id,
    );
    await harness.accounts.orders.move(String(placed?.order_id), 'paid');
    expect(await callStatus(key)).toBe(200);
    await go('/account/orders');
    await page.getByLabel('Research').check();
    await page.getByLabel('Card, through Stripe').check();
    await press('Place order');
    await heading(/^Pay /, 'account-pay-elsewhere');
    await open('Continue to Stripe');
    await heading('Stand-in for Stripe');
    const [session] = [...stripe.sessions.values()];
    const payload = eventText('checkout.session.completed', { ...session, payment_status: 'paid' });
    expect(await deliver(harness.url, payload, { at_ms: harness.clock.ms })).toBe(200);
    await go(`/account/orders/${session?.metadata.order_id}`);
    await page.locator('#main .state-paid').waitFor();
    await inspect(page, 'account-order-paid');
    await go('/account/orders', 'account-orders');
    await go(await toldLink(EMAIL, /^Your payment was received$/));
    await page.locator('#main .state-paid').waitFor();
    const [received] = harness.mailbox.to(EMAIL).filter(({ subject }) => subject.includes('payment'));
    expect(received?.text).toContain('By: the card payment service');
  });

  it('looks at usage, wallet and overview, and sets alerts', async () => {
    expect(await callStatus(key, '/v1/rankings/fixture.nothing')).toBe(404);
    await go('/account/usage', 'account-usage');
    await go('/account/wallet', 'account-wallet');
    await go('/account/alerts');
    await page.getByLabel(/falls below/).fill('500');
    await button('Save').first().click();
    await shows('You will get an e-mail when fewer than 500');
    await page.getByLabel(/cost more than/).fill('200');
    await page.getByLabel('In one').selectOption('hour');
    await button('Save').nth(1).click();
    await shows('more than 200 credits in one hour');
    await page.getByLabel('revised').uncheck();
    await button('Save').nth(2).click();
    await shows('are redefined, renamed or withdrawn', 'account-alerts');
    await go('/account/', 'account-home');
  });

  it('makes a feed link of a call that it was led here with, fetches it, and revokes it', async () => {
    await go(
      `/account/feeds?call=${encodeURIComponent('/v1/data?indicator=alpha.life_expectancy&countries=KEN')}`,
    );
    await inspect(page, 'account-feeds-none');
    await fill({ Name: '<b>Life</b> in Kenya', 'Monthly cap': '1' });
    await press('Make link');
    await shows('more than the cap', 'account-feeds-refused');
    await fill({ 'Monthly cap': '100' });
    await press('Make link');
    await heading('Your feed link');
    await page.reload();
    await inspect(page, 'account-feed-made');
    const [url = ''] = await page.locator('pre').allTextContents();
    const status = async () => (await fetch(url)).status;
    expect(await status()).toBe(200);
    await go('/account/feeds');
    expect(await page.content()).not.toContain(url.slice(-44, -4));
    await inspect(page, 'account-feeds');
    await open('Revoke', 'account-feed-revoke');
    await press('Revoke link permanently');
    await shows(/is revoked\./);
    expect(await status()).toBe(404);
    await inspect(page, 'account-feeds-revoked');
  });

  it('adds a webhook, tests it, sends a failed delivery again, and removes it', () =>
    walkWebhooks(harness, page));

  it('revokes the key, and the next call is refused', async () => {
    await go('/account/keys');
    await open('Revoke', 'account-key-revoke');
    await press('Revoke key permanently');
    await shows(/is revoked\./);
    expect(await callStatus(key, '/v1/ping')).toBe(401);
    await go(await toldLink(EMAIL, /^A key was revoked$/));
    await heading('Keys');
  });

  it('is suspended, and told so by mail and on the pages', async () => {
    await commandLine('suspend', '--email', EMAIL);
    await go(await toldLink(EMAIL, /^Your account is suspended$/));
    await page.getByRole('alert').getByRole('link', { name: CONTACT }).waitFor();
    await inspect(page, 'account-suspended');
    const { account_id } = await harness.accounts.findByEmail(EMAIL);
    await harness.accounts.restore(account_id);
    await page.reload();
    await page.getByRole('alert').waitFor({ state: 'detached' });
  });

  it('downloads the data and is erased, without console errors', async () => {
    await go('/account/data', 'account-data-none');
    const ready = harness.mailbox.next(EMAIL);
    await press('Prepare the export');
    await ready;
    await go('/account/data');
    const download = page.waitForEvent('download');
    await open(/^Download/);
    const file = await readExport(await readFile(await (await download).path()));
    expect(file.account).toMatchObject([{ account: { email: EMAIL, name: 'Ann <Example>' } }]);
    expect(file.ledger).toHaveLength(7);
    expect(file['feed-links']).toMatchObject([
      { name: '<b>Life</b> in Kenya', state: 'revoked', fetches: 1 },
    ]);
    const { account_id } = await harness.accounts.findByEmail(EMAIL);
    const { requests } = harness.context;
    const { request_id } = await requests.open(account_id, 'export');
    await requests.setProgress(request_id, { done: 1_250_000, total: 2_000_000 });
    await go('/account/data');
    await shows('1,250,000 of 2,000,000 ledger entries written', 'account-data-preparing');
    await requests.fail(request_id, { note: 'Closed by the test.', by: 'test' });
    await go('/account/data');
    await open('Erase my data', 'account-erase');
    await fill({ 'Your password': PASSWORD });
    await press('Erase my data permanently');
    await shows('Your erasure is requested', 'account-data');
    const listed = await requests.listOf(account_id);
    const erasure = listed.find(({ kind }) => kind === 'erasure');
    const erased = JSON.parse(await commandLine('erase', '--request', String(erasure?.request_id), '--json'));
    expect(erased).toMatchObject({ account_id, erased_as: expect.stringMatching(/^erased_/) });
    await go('/account/');
    await heading('Sign in');
    const after = await harness.accounts.get(account_id);
    expect(after).toMatchObject({ state: 'closed', name: '', email: erased.erased_as });
    expect(consoleErrors).toEqual([]);
  });
});

it('a customer whom a stranger locked out gets in by a mailed link, and then with the password in the same browser', async () => {
  const { email } = await harness.customer('Dora');
  for (let guess = 0; guess < 10; guess++) await harness.signIn(harness.visitor(), email, `guess ${guess}`);
  await page.context().clearCookies();
  await signIn(email);
  await shows('You can also get a sign-in link by e-mail.', 'account-sign-in-throttled');
  await open('Get a link by e-mail', 'account-sign-in-link');
  await fill({ 'E-mail address': email });
  const mail = harness.mailbox.next(email);
  await press('Send link');
  await heading('Check your e-mail');
  await go(String((await mail).link), 'account-sign-in-link-opened');
  await press('Sign in');
  await heading('Dora');
  await press(/^Account: /);
  await button('Sign out').first().click();
  await signIn(email);
  await heading('Dora');
});

it('a customer with a second factor sets it up, signs in with a code and with a recovery code, and turns it off', async () => {
  const email = await signedIn('Fay');
  const code = () => {
    harness.clock.ms += STEP_MS;
    return codeAt(secret, harness.clock.ms);
  };
  const signInWith = async (typed: string): Promise<void> => {
    await page.context().clearCookies();
    await signIn(email);
    await heading('Enter your code');
    await page.getByRole('textbox', { name: 'Code' }).fill(typed);
    await press('Sign in');
  };
  await open('Second factor', 'account-second-factor-off');
  await open('Set it up', 'account-second-factor-set-up');
  const secret = String(await page.locator('code.take').textContent());
  await page.getByRole('textbox', { name: 'Code' }).fill(code());
  await fill({ 'Your password': PASSWORD });
  await press('Turn on');
  await heading('Your second factor is on', 'account-recovery-codes');
  const [recovery = ''] = await page.locator('.recovery-codes code').allTextContents();
  await open('I have kept them', 'account-second-factor-on');
  await signInWith(code());
  await heading('Fay');
  await signInWith('000000');
  await shows('This code is not right', 'account-sign-in-code');
  await page.getByRole('textbox', { name: 'Code' }).fill(recovery);
  await press('Sign in');
  await heading('Fay');
  await go('/account/second-factor');
  await shows('9 recovery codes left');
  await page.getByRole('textbox', { name: 'Code' }).last().fill(code());
  await press('Turn off');
  await shows('Your second factor is off.');
});

it('a customer with a new address confirms it by the mailed link, ends another session, and takes the change back', async () => {
  const email = await signedIn('Hal');
  const fresh = 'hal@elsewhere.example.org';
  await heading('Hal');
  await go('/account/profile', 'account-profile');
  await press(/^End Unknown browser/);
  await shows('The session has ended.');
  await fill({ 'New address': fresh, 'Your password': PASSWORD });
  const mail = harness.mailbox.next(fresh);
  await press('Change address');
  await shows('Until then nothing changes.');
  await go(String((await mail).link), 'account-email-confirm');
  const told = harness.mailbox.next(email);
  await press('Use this address');
  await heading('Your address is changed', 'account-email-changed');
  await go(String((await told).link), 'account-email-undo');
  await press('Use this address');
  await shows('choose a new one');
});

it('a team: a new person is invited by mail, gets roles and the ownership, and lets somebody go', () =>
  walkTeam(harness, page));

it('a customer who closes the account can sign in again to download or erase the data, and to nothing else', async () => {
  const email = await signedIn('Cleo', '/account/data');
  await open('Close account', 'account-close');
  await fill({ 'Your password': PASSWORD });
  await press('Close account permanently');
  await heading('Your account is closed', 'account-closed');
  expect(await toldLink(email, /^Your account is closed$/)).toBe(`${harness.url}/account/data`);
  await open('sign in');
  await signInHere(page, email, PASSWORD);
  await shows('This account is closed');
  const navigation = page.getByRole('navigation', { name: 'Account' });
  expect(await navigation.getByRole('link').allTextContents()).toEqual(['Your data']);
  await inspect(page, 'account-data-closed');
});

it('a customer who forgot the password chooses a new one with a mailed link, which works once', async () => {
  const { email } = await harness.customer('Eve');
  await page.context().clearCookies();
  await go('/account/forgot', 'account-forgot');
  await fill({ 'E-mail address': email });
  const mail = harness.mailbox.next(email);
  await press('Send link');
  const mailed = String((await mail).link);
  await go(mailed, 'account-reset');
  await fill({ 'New password': 'another long and rare password' });
  await press('Change password');
  await heading('Your password is changed', 'account-reset-done');
  expect(await toldLink(email, /^Your password was changed$/)).toBe(`${harness.url}/account/forgot`);
  await go(mailed);
  await heading('This link is no longer valid', 'account-link-invalid');
});

it('every account page was inspected', () => {
  const unseen = unseenPages(harness.routes, '/account').filter((url) => !NO_PAGE.test(url));
  expect(unseen).toEqual([]);
});
