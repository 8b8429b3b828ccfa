/** `/docs` in a real browser: it loads nothing from other hosts, lists every route and sends calls. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DOCUMENTED_PREFIX } from '../../gateway/http/public-api.ts';
import { OPERATIONS } from '../../gateway/operations/registry.ts';
import { Service, type TestKey } from '../gateway/service.ts';
import { type Browser, openBrowser } from './browser.ts';

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

    expect(listed.toSorted()).toEqual(OPERATIONS.map(({ path }) => DOCUMENTED_PREFIX + path).toSorted());
    expect(foreignRequests).toEqual([]);
    expect(consoleErrors).toEqual([]);
  });

  it('sends a charged call with a key and shows the response', async () => {
    const page = await browser.context.newPage();
    await page.goto(`${service.url}/docs`);

    await page.getByRole('button', { name: 'Authorize' }).click();
    const dialog = page.locator('.modal-ux');
    await dialog.locator('input').fill(key.key);
    await dialog.getByRole('button', { name: 'Apply credentials' }).click();
    await dialog.getByRole('button', { name: 'Close' }).click();

    const operation = page.locator('.opblock', {
      has: page.locator(`[data-path="${DOCUMENTED_PREFIX}/countries/{iso3}"]`),
    });
    await operation.locator('.opblock-summary').click();
    await operation.getByPlaceholder('iso3').fill('ken');
    await operation.getByRole('button', { name: 'Execute' }).click();
    const answer = operation.locator('.live-responses-table');
    await answer.waitFor();
    await answer.scrollIntoViewIfNeeded();

    expect(await answer.locator('tbody .response-col_status').first().textContent()).toContain('200');
    expect(await answer.textContent()).toContain('"iso3": "KEN"');
    expect(await service.balance(key)).toBe(9);
  });
});
