/** The documentation in a real browser: it loads nothing from other hosts, sends calls, and is complete without a script. */
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { useService } from '../gateway/service.ts';
import { useBrowser } from './browser.ts';
import { inspect } from './page-checks.ts';

const service = await useService();
const key = await service.account({ credits: 10 });
const browser = await useBrowser();

const open = async (path: string): Promise<Page> => {
  const page = await browser.context.newPage();
  await page.goto(service.url + path);
  return page;
};
const send = (page: Page) => page.getByRole('button', { name: /^Send/ }).click();
const showPrice = (page: Page) => page.getByRole('button', { name: 'Show the price' }).click();
const answerOf = (page: Page) => page.getByRole('region', { name: 'Answer of your call' });

describe('the reference', () => {
  it('sends a free call as the fields say, loads nothing from elsewhere and breaks no policy', async () => {
    const page = await browser.context.newPage();
    const foreign: string[] = [];
    const errors: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(service.url) && !request.url().startsWith('data:'))
        foreign.push(request.url());
    });
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text());
    });
    await page.goto(`${service.url}/docs/reference/listIndicators`);
    await page.getByLabel('q', { exact: true }).fill('mortality');
    await page.getByLabel('topic', { exact: true }).fill('');
    await page.getByLabel('provider', { exact: true }).fill('');
    await send(page);
    await page.getByText('status 200').waitFor();
    expect(await page.getByRole('status').textContent()).toBe('GET /v1/indicators?q=mortality: status 200');
    const { data } = JSON.parse((await answerOf(page).textContent()) ?? '');
    expect(data.length).toBeGreaterThan(0);
    expect([foreign, errors]).toEqual([[], []]);
    await page.close();
  });

  it('sends a call with a key, which is kept nowhere, once its price was shown', async () => {
    const page = await open('/docs/reference/getCountry');
    const before = await service.balance(key);
    await page.getByLabel('Your key').fill(key.key);
    expect(await page.getByRole('button', { name: /^Send/ }).count()).toBe(0);
    await showPrice(page);
    await page.getByText(`This call costs 1 credit; ${before - 1} credits will be left.`).waitFor();
    expect(await service.balance(key)).toBe(before);
    await page.getByLabel('iso3').press('End');
    await page.getByLabel('iso3').pressSequentially(' ');
    expect(await page.getByRole('button', { name: /^Send/ }).count()).toBe(0);
    await page.getByLabel('iso3').press('Backspace');
    await showPrice(page);
    await send(page);
    await page.getByText('status 200, 1 credit charged').waitFor();
    const iso3 = await page.getByLabel('iso3').inputValue();
    expect(await answerOf(page).textContent()).toContain(`"iso3": "${iso3}"`);
    expect(await service.balance(key)).toBe(before - 1);
    const kept = await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]');
    expect(kept).toEqual([0, 0, '']);
    await page.reload();
    expect(await page.getByLabel('Your key').inputValue()).toBe('');
    await page.close();
  });

  it('sends no more than the price that was shown, and saves files', async () => {
    const page = await open('/docs/reference/getData');
    await page.getByLabel('Your key').fill(key.key);
    await page.getByLabel('indicator', { exact: true }).fill('alpha.child_mortality');
    await page.getByLabel('countries', { exact: true }).fill('KEN');
    for (const name of ['from', 'to']) await page.getByLabel(name, { exact: true }).fill('');
    await page.locator('select[name=format]').selectOption('xlsx');
    const feed = await page.getByRole('link', { name: 'Make a feed link of this call' }).getAttribute('href');
    expect(new URL(feed ?? '', service.url).searchParams.get('call')).toBe(
      '/v1/data?indicator=alpha.child_mortality&countries=KEN&format=xlsx',
    );
    await showPrice(page);
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.url()));
    const download = page.waitForEvent('download');
    await send(page);
    await page.getByText('status 200').waitFor();
    await page.getByRole('link', { name: /^Save .*\.xlsx$/ }).click();
    const bytes = await readFile(await (await download).path());
    expect(bytes.subarray(0, 2).toString()).toBe('PK');
    expect(new URL(sent[0] ?? '').searchParams.get('max_credits')).toBe('2');
    await page.close();
  });

  it('sends nothing that costs where no price could be shown', async () => {
    const page = await open('/docs/reference/getCountry');
    const before = await service.balance(key);
    await page.route(/dry_run/, (route) => route.abort());
    await page.getByLabel('Your key').fill(key.key);
    await showPrice(page);
    await page.getByText('no answer. Try again.').waitFor();
    expect(await page.getByRole('button', { name: /^Send/ }).count()).toBe(0);
    expect(await service.balance(key)).toBe(before);
    await page.close();
  });

  it('shows a refusal as it shows an answer', async () => {
    const page = await open('/docs/reference/getIndicator');
    await page.getByLabel('indicator_id').fill('no such / id');
    await send(page);
    await page.getByText('status 404').waitFor();
    expect(await answerOf(page).textContent()).toContain('"indicator_not_found"');
    await inspect(page, 'docs-answer');
    await page.close();
  });

  it('leads to the answer of a free call without a script', async () => {
    const page = await browser.context.newPage();
    await page.route('**/*.js', (route) => route.abort());
    await page.goto(`${service.url}/docs`);
    await page
      .getByRole('navigation', { name: 'Documentation' })
      .getByRole('link', { name: 'Reference' })
      .click();
    await page.getByRole('link', { name: 'Topics' }).last().click();
    expect(await page.getByRole('button', { name: /^Send/ }).count()).toBe(0);
    await page.getByRole('link', { name: 'Open this call' }).click();
    expect(new URL(page.url()).pathname).toBe('/v1/topics');
    await page.close();
  });
});
