/** Embedded pictures in a real browser: accessible at every width, drawn in frames of other sites, within the policy. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Service } from '../gateway/service.ts';
import { type Browser, openBrowser } from './browser.ts';
import { inspect } from './page-checks.ts';

const EMBED = '/embed/indicators/alpha.life_expectancy';

/** Run in the page. */
const WIDTHS_OF_SHAPES =
  "[...document.querySelectorAll('use')].map((use) => use.getBoundingClientRect().width)";
const FILLS = "[...document.querySelectorAll('.world > g')].map((group) => getComputedStyle(group).fill)";

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

/** With what the browser complains about. */
async function newPage(): Promise<{ page: Page; errors: string[] }> {
  const page = await browser.context.newPage();
  const errors: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  return { page, errors };
}

test('each picture is accessible, in light and dark, and nothing of it is out of sight', async () => {
  for (const picture of ['map', 'lines', 'bars']) {
    const { page, errors } = await newPage();
    await page.goto(`${service.url}${EMBED}?picture=${picture}`);
    await inspect(page, `embed-${picture}`);
    const image = page.getByRole('img', { name: /^Life expectancy \(years/ });
    expect(await image.count()).toBe(1);
    expect(errors).toEqual([]);
    await page.close();
  }
});

test('a map is drawn in a frame of another site, with its outlines out of their file', async () => {
  const other = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end(
      `<!doctype html><title>Another site</title><iframe src="${service.url}${EMBED}" width="600" height="500"></iframe>`,
    );
  }).listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { page, errors } = await newPage();
  await page.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
  await page.frameLocator('iframe').getByRole('heading', { name: 'Life expectancy' }).waitFor();
  const frame = page.frames().at(-1);
  // A shape whose outline did not arrive has no size.
  const sizes = await frame?.evaluate<number[]>(WIDTHS_OF_SHAPES);
  expect(sizes?.length).toBeGreaterThan(5);
  expect(Math.min(...(sizes ?? []))).toBeGreaterThan(0);
  expect(await frame?.evaluate<string[]>(FILLS)).toContain('url("#picture-hatch")');
  expect(errors).toEqual([]);
  await page.close();
  other.close();
});
