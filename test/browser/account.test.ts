/** Issue 5 in a real browser: a customer's whole life, every page looked at narrow and wide, light and dark. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deliver, eventText, FakeStripe, stripeSettings } from '../gateway/pages/fake-stripe.ts';
import { type AccountPagesHarness, PASSWORD, startAccountPages } from '../gateway/pages/harness.ts';
import { openBrowser, screenshotPath } from './browser.ts';
import { inspect } from './page-checks.ts';

const run = promisify(execFile);
const EMAIL = 'ann@example.org';

describe('a customer, from sign-up to erasure', () => {
  let harness: AccountPagesHarness;
  let stripe: FakeStripe;
  beforeAll(async () => {
    stripe = await FakeStripe.start();
    harness = await startAccountPages({
      settings: {
        ...stripeSettings(stripe),
        FREE_GRANT: '2',
        INVOICE_FROM: 'Almanac Ltd\n1 Example Street\nExampletown',
        INVOICE_PAY_TO: 'IBAN XX00 0000 0000 0000\nAlmanac Ltd',
      },
    });
  });
  afterAll(async () => {
    await harness.stop();
    stripe.stop();
  });

  /** What curl prints of an answer's status. */
  const curl = async (key: string, path: string): Promise<string> => {
    const header = `Authorization: Bearer ${key}`;
    const { stdout } = await run('curl', [
      '-s',
      '-o',
      '/dev/null',
      '-w',
      '%{http_code}',
      '-H',
      header,
      harness.url + path,
    ]);
    return stdout;
  };

  it('lives it all', { timeout: 240_000 }, async () => {
    await using browser = await openBrowser();
    const page = await browser.context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      // The page of the payment is not ours; a refusal is what some steps are about.
      const isOurs = message.location().url.startsWith(harness.url);
      if (message.type() === 'error' && isOurs && !/40[19]|410|422/.test(message.text()))
        complaints.push(message.text());
    });
    const button = (name: string | RegExp) => page.getByRole('button', { name });
    const heading = (name: string | RegExp) => page.getByRole('heading', { name }).first().waitFor();
    const go = (path: string) => page.goto(harness.url + path);

    // Signs up, and confirms the address from the mail.
    await go('/account/');
    await inspect(page, 'account-sign-in');
    await page.getByRole('link', { name: 'Create one' }).click();
    await inspect(page, 'account-sign-up');
    await page.getByLabel('E-mail address').fill(EMAIL);
    await page.getByLabel('Name').fill('Ann <Example>');
    await page.getByLabel('Password').fill(PASSWORD);
    const mail = harness.mailbox.next(EMAIL);
    await button('Create account').click();
    await heading('Check your e-mail');
    await inspect(page, 'account-mailed');
    await page.goto(String((await mail).link));
    await inspect(page, 'account-confirm');
    await button('Confirm address').click();
    await heading('Your address is confirmed');
    await inspect(page, 'account-confirmed');
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('E-mail address').fill(EMAIL);
    await page.getByLabel('Password').fill(PASSWORD);
    await button('Sign in').click();
    await heading('Ann <Example>');
    await inspect(page, 'account-home-new');

    // Makes a key.
    await page.getByRole('link', { name: 'Create your first key' }).click();
    await inspect(page, 'account-keys-none');
    await page.getByLabel('Label').fill('<i>my</i> notebook');
    await page.getByLabel('Last day').fill('2027-01-31');
    await button('Create key').click();
    await heading('Your new key');
    await inspect(page, 'account-key-made');
    const [key = ''] = await page.locator('pre').allTextContents();
    expect(key).toMatch(/^alm_live_/);
    expect(await page.locator('pre').nth(1).textContent()).toBe(
      `curl -H 'Authorization: Bearer ${key}' ${harness.url}/v1/ping`,
    );
    await go('/account/keys');
    expect(await page.content()).not.toContain(key);
    await inspect(page, 'account-keys');

    // Calls until nothing is left.
    expect(await curl(key, '/v1/ping')).toBe('200');
    expect(await curl(key, '/v1/countries/KEN')).toBe('200');
    expect(await curl(key, '/v1/countries/KEN')).toBe('200');
    expect(await curl(key, '/v1/countries/KEN')).toBe('402');

    // Orders: one against an invoice, one by card.
    await go('/account/orders');
    await inspect(page, 'account-orders-none');
    await page.getByLabel('Invoice and bank transfer').check();
    await button('Deployment order').click();
    await heading('Invoice');
    await inspect(page, 'account-invoice');
    await page.pdf({ path: screenshotPath('account-invoice').replace('.png', '.pdf') });
    await page.getByRole('link', { name: 'Back to the order' }).click();
    await inspect(page, 'account-order');
    const [placed] = await harness.context.accounts.orders.list(
      (await harness.accounts.findByEmail(EMAIL)).account_id,
    );
    await harness.accounts.orders.move(String(placed?.order_id), 'paid');
    expect(await curl(key, '/v1/countries/KEN')).toBe('200');
    await go('/account/orders');
    await page.getByLabel('Research').check();
    await page.getByLabel('Card, through Stripe').check();
    await button('Deployment order').click();
    await heading(/^Pay /);
    await inspect(page, 'account-pay-elsewhere');
    await page.getByRole('link', { name: 'Continue to Stripe' }).click();
    await heading('Stand-in for Stripe');
    const [session] = [...stripe.sessions.values()];
    const payload = eventText('checkout.session.completed', { ...session, payment_status: 'paid' });
    expect(await deliver(harness.url, payload, { at_ms: harness.clock.ms })).toBe(200);
    await go(`/account/orders/${session?.metadata.order_id}`);
    await page.locator('#main .state-paid').waitFor();
    await inspect(page, 'account-order-paid');
    await go('/account/orders');
    await inspect(page, 'account-orders');

    // Calls again, and looks at it all.
    expect(await curl(key, '/v1/rankings/fixture.nothing')).toBe('404');
    await go('/account/usage');
    await inspect(page, 'account-usage');
    await go('/account/wallet');
    await page.getByLabel(/falls below/).fill('500');
    await button('Save').click();
    await page.getByText('You will get an e-mail when fewer than 500').waitFor();
    await inspect(page, 'account-wallet');
    await go('/account/');
    await inspect(page, 'account-home');

    // Revokes the key: the next request is refused.
    await go('/account/keys');
    await page.getByRole('link', { name: 'Revoke' }).click();
    await inspect(page, 'account-key-revoke');
    await button('Revoke key permanently').click();
    await page.getByText(/is revoked\./).waitFor();
    expect(await curl(key, '/v1/ping')).toBe('401');

    // Takes everything along, and is forgotten.
    await go('/account/data');
    await inspect(page, 'account-data-none');
    const ready = harness.mailbox.next(EMAIL);
    await button('Prepare the export').click();
    await ready;
    await go('/account/data');
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: /^Download/ }).click();
    const file = JSON.parse(await readFile(await (await download).path(), 'utf8'));
    expect(file.account).toMatchObject({ email: EMAIL, name: 'Ann <Example>' });
    expect(file.ledger).toHaveLength(6);
    await page.getByLabel('Password to erase your data').fill(PASSWORD);
    await button('Erase my data permanently').click();
    await page.getByText('Your erasure is requested').waitFor();
    await inspect(page, 'account-data');
    const { account_id } = await harness.accounts.findByEmail(EMAIL);
    const erasure = (await harness.context.requests.listOf(account_id)).find(
      ({ kind }) => kind === 'erasure',
    );
    const command = [
      'gateway/accounts/cli/main.ts',
      'erase',
      '--request',
      String(erasure?.request_id),
      '--json',
    ];
    const { stdout } = await run(process.execPath, command, {
      env: {
        PATH: '/usr/bin:/bin',
        REDIS_URL: String(harness.settings.REDIS_URL),
        VAR_DIR: harness.settings.VAR_DIR,
      },
    });
    expect(JSON.parse(stdout)).toMatchObject({ account_id, erased_as: expect.stringMatching(/^erased_/) });
    await go('/account/');
    await heading('Sign in');
    const after = await harness.accounts.get(account_id);
    expect(after).toMatchObject({ state: 'closed', name: '', email: JSON.parse(stdout).erased_as });
    expect(complaints).toEqual([]);
  });

  it('closes the account, and comes back for what is held about them', async () => {
    const { email } = await harness.customer('Cleo');
    await using browser = await openBrowser();
    const page = await browser.context.newPage();
    const signIn = async (): Promise<void> => {
      await page.getByLabel('E-mail address').fill(email);
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in' }).click();
    };
    await page.goto(`${harness.url}/account/data`);
    await signIn();
    await page.getByLabel('Password to close the account').fill(PASSWORD);
    await page.getByRole('button', { name: 'Close account permanently' }).click();
    await page.getByRole('heading', { name: 'Your account is closed' }).waitFor();
    await inspect(page, 'account-closed');
    await page.getByRole('link', { name: 'sign in' }).click();
    await signIn();
    await page.getByText('This account is closed').waitFor();
    expect(await page.getByRole('navigation', { name: 'Main' }).getByRole('link').allTextContents()).toEqual([
      'Your data',
    ]);
    await inspect(page, 'account-data-closed');
  });
});
