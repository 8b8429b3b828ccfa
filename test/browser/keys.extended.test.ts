/** Keys in a real browser: made with rules, used by pages of two sites, spent to the limit, rotated, and ended. */
import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { useAccountPages } from '../gateway/commerce/pages/harness.ts';
import { type OtherSite, startSite, useBrowser } from './browser.ts';
import { inspect, walker } from './page-checks.ts';

const HOUR_MS = 3_600_000;

const sites: OtherSite[] = [];

async function openSite(): Promise<Page> {
  const site = await startSite();
  sites.push(site);
  const opened = await browser.context.newPage();
  await opened.goto(site.localUrl);
  return opened;
}

const harness = await useAccountPages();
afterAll(async () => {
  for (const site of sites) await site[Symbol.asyncDispose]();
});
const customer = await harness.customer('Ann');
const browser = await useBrowser();
/** A page of the customer's site, and one of another. */
const own = await openSite();
const other = await openSite();
const page = await browser.context.newPage();
const { go, press, shows, heading, fill } = walker(page, harness.url);
const value = customer.visitor.cookies.get(harness.context.site.cookie) ?? '';
await browser.context.addCookies([{ name: harness.context.site.cookie, value, url: harness.url }]);

const keyOf = async (): Promise<string> => (await page.locator('pre').allTextContents())[0] ?? '';

/** What a script of a page gets: the status, and the message of an error. */
const fetchFrom = (site: Page, key: string): Promise<[number, string]> =>
  site.evaluate(
    async ({ url, authorization }): Promise<[number, string]> => {
      const answer = await fetch(url, { headers: { authorization }, cache: 'no-store' });
      const { error } = (await answer.json()) as { error?: { message: string } };
      return [answer.status, error?.message ?? ''];
    },
    { url: `${harness.url}/v1/countries/KEN`, authorization: `Bearer ${key}` },
  );

it('a key for browsers is made with origins and a limit, used up to it, rotated, and the old one ends', async () => {
  await go('/account/keys');
  await fill({ Label: 'Maps of our site' });
  await page.getByLabel('Pages in browsers').check();
  await press('Create key');
  await shows('needs the origins of its pages and a monthly limit');
  expect(await page.getByLabel('Pages in browsers').isChecked()).toBe(true);
  await inspect(page, 'account-keys-refused');
  await fill({
    'Monthly limit': '2',
    'Web origins': new URL(own.url()).origin,
    'Address ranges': '127.0.0.0/8\n2001:db8::/32',
  });
  await press('Create key');
  await heading('Your new key');
  const old = await keyOf();

  expect(await fetchFrom(other, old)).toEqual([403, expect.stringContaining(new URL(other.url()).origin)]);
  for (let call = 0; call < 2; call += 1) expect(await fetchFrom(own, old)).toEqual([200, '']);
  const reached = [402, expect.stringContaining('may spend 2 in a calendar month (UTC) and has spent 2')];
  expect(await fetchFrom(own, old)).toEqual(reached);

  await go('/account/keys');
  await shows('2 of 2');
  await page
    .getByRole('main')
    .getByRole('link', { name: /^alm_live_/ })
    .click();
  await inspect(page, 'account-key-limited');
  await fill({ Label: 'Maps' });
  await press('Rename');
  await shows('The label is changed.');
  await page.getByLabel('This key stays valid').selectOption('for an hour');
  await press('Rotate key');
  await shows('It replaces', 'account-key-rotated');
  const key = await keyOf();
  expect(key).not.toBe(old);
  for (const one of [old, key]) expect(await fetchFrom(own, one)).toEqual(reached);

  await go('/account/keys', 'account-keys-rotated');
  await go(`/account/keys/${old.split('_')[2]}`);
  await shows('change that one', 'account-key-replaced');
  await page
    .getByRole('main')
    .getByRole('link', { name: key.split('_')[2] ?? '' })
    .first()
    .click();
  await fill({ 'Monthly limit': '4' });
  await press('Save');
  await shows('The rules are changed.');
  for (const one of [old, key]) expect(await fetchFrom(own, one)).toEqual([200, '']);

  await go('/account/usage');
  await heading('By key', 'account-usage-by-key');

  harness.clock.ms += HOUR_MS;
  expect((await fetchFrom(own, old))[0]).toBe(401);
  expect((await fetchFrom(own, key))[0]).toBe(402);
});
