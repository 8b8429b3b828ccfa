/** Guides, reference, prices, status and legal texts at every width, light and dark. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Service } from '../gateway/service.ts';
import { type Browser, openBrowser } from './browser.ts';
import { inspect } from './page-checks.ts';

let service: Service;
let browser: Browser;

beforeAll(async () => {
  service = await Service.start();
  browser = await openBrowser();
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await service.stop();
});

it.each([
  '/docs',
  '/docs/quick-start',
  '/docs/errors',
  '/docs/reference',
  '/docs/reference/getData',
  '/pricing',
  '/status',
  '/terms',
  '/contact',
])('%s is accessible and fits its window', async (path) => {
  const page = await browser.context.newPage();
  const answer = await page.goto(service.url + path);
  expect(answer?.status()).toBe(200);
  await inspect(page, path.slice(1).replaceAll('/', '-'));
  await page.close();
});
