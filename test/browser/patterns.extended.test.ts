/** The pages of patterns, which show every component, are accessible and fit every width in both schemes. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  PATTERN_PATHS,
  type PatternPages,
  startPatternPages,
} from '../gateway/web/patterns/pattern-pages.ts';
import { type Browser, openBrowser } from './browser.ts';
import { inspect } from './page-checks.ts';

let pages: PatternPages;
let browser: Browser;
beforeAll(async () => {
  pages = await startPatternPages();
  browser = await openBrowser();
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await pages.stop();
});

it.each(PATTERN_PATHS)('%s is accessible, fits its window and breaks no rule of the policy', async (path) => {
  const page = await browser.context.newPage();
  const refused: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !/404/.test(message.text())) refused.push(message.text());
  });
  const answer = await page.goto(pages.url + path);
  expect(answer?.status()).toBe(200);
  await inspect(page, path.slice(1).replaceAll('/', '-'));
  expect(refused).toEqual([]);
  await page.close();
});
