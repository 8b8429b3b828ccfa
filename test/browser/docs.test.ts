/** `/docs` in a real browser: it loads nothing from other hosts, lists every route and sends calls. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../gateway/operations/registry.ts';
import { Service, type TestKey } from '../gateway/service.ts';
import { type Browser, openBrowser } from './browser.ts';
import { inspect } from './page-checks.ts';

describe('/docs', () => {
  let service: Service;
  let key: TestKey;
  let browser: Browser;

  beforeAll(async () => {
    service = await Service.start();
    key = await service.account({ credits: 10 });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser[Symbol.asyncDispose]();
    await service.stop();
  });

  it('lists every route, loads nothing from other hosts, and violates no content policy', async () => {
    const page = await browser.context.newPage();
    const foreignRequests: string[] = [];
    const consoleErrors: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(service.url) && !request.url().startsWith('data:'))
        foreignRequests.push(request.url());
    });
    page.on('console', (message) => {
      if (message.type() === 'error') consoleErrors.push(message.text());
    });

    await page.goto(`${service.url}/docs`);
    const summaries = page.locator('.opblock-summary-path');
    await summaries.first().waitFor();
    const listed = (await summaries.allTextContents()).map((path) => path.replaceAll('\u200b', ''));

    expect(listed.toSorted()).toEqual(OPERATIONS.map(({ path }) => `/v1${path}`).toSorted());
    expect(foreignRequests).toEqual([]);
    expect(consoleErrors).toEqual([]);
  });

  const operationAt = (page: Page, path: string) =>
    page.locator('.opblock', { has: page.locator(`[data-path="${path}"]`) });

  async function enterKey(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Enter your key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.locator('input').fill(key.key);
    await dialog.getByRole('button', { name: 'Authorize' }).click();
    await dialog.getByRole('button', { name: 'Close' }).click();
  }

  it('says which operations need a key, keeps a key for the tab only, and sends an example with it', async () => {
    const page = await browser.context.newPage();
    await page.goto(`${service.url}/docs`);
    const labels = (text: string) =>
      page.locator('.opblock').getByRole('button', { name: text, exact: true });
    await labels('Key needed').first().waitFor();
    const locked = OPERATIONS.filter(({ needsKey }) => needsKey).length;
    expect(await labels('Key needed').count()).toBe(locked);

    await enterKey(page);
    expect(await labels('Key set').count()).toBe(locked);
    await page.reload();
    await labels('Key set').first().waitFor();
    expect(await page.evaluate('[localStorage.length, document.cookie]')).toEqual([0, '']);
    const before = await service.balance(key);
    const operation = operationAt(page, '/v1/countries/{iso3}');
    await operation.locator('.opblock-summary-control').click();
    const code = await operation.getByPlaceholder('iso3').inputValue();
    await operation.getByRole('button', { name: 'Execute' }).click();
    const answer = operation.locator('.live-responses-table');
    await answer.waitFor();

    expect(await answer.locator('tbody .response-col_status').first().textContent()).toContain('200');
    expect(await answer.textContent()).toContain(`"iso3": "${code}"`);
    expect(await service.balance(key)).toBe(before - 1);

    const otherTab = await browser.context.newPage();
    await otherTab.goto(`${service.url}/docs`);
    await otherTab.getByRole('button', { name: 'Enter your key' }).waitFor();
  });

  it('is accessible and fits its window, with the dialog and with an answer', async () => {
    const page = await browser.context.newPage();
    await page.goto(`${service.url}/docs`);
    await page.getByRole('button', { name: 'Enter your key' }).click();
    await inspect(page, 'docs-key');
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    const operation = operationAt(page, '/v1/indicators');
    await operation.locator('.opblock-summary-control').click();
    await operation.getByRole('button', { name: 'Execute' }).click();
    await operation.locator('.live-responses-table').waitFor();
    await inspect(page, 'docs-answer');
  });
});
