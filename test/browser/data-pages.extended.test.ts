/** Pages of indicators, topics and providers in a real browser: accessible, in sight, and chosen from with the script. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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

test('an indicator: a country that is added is drawn and priced, and the slider changes the map', async () => {
  const page = await browser.context.newPage();
  await page.goto(`${service.url}/indicators/alpha.life_expectancy?countries=KEN`);
  await page.getByLabel('Add a country').selectOption('DEU');
  await page.locator('#histories .chips').getByText('Germany').waitFor();
  expect(new URL(page.url()).search).toBe('?countries=KEN&add=DEU');
  expect(await page.locator('#use-section h3').textContent()).toContain('Kenya, Germany');
  await page.getByRole('slider').press('ArrowLeft');
  await page.getByRole('heading', { name: 'Map, 2020' }).waitFor();
  expect(new URL(page.url()).search).toBe('?countries=KEN%2CDEU&year=2020');
});

describe.each([
  ['indicator', '/indicators/alpha.life_expectancy?countries=KEN,DEU,QQ'],
  ['display-only', '/indicators/gamma.reserves'],
  ['indicators', '/indicators?q=life&provider=alpha'],
  ['topics', '/topics'],
  ['topic', '/topics/health'],
  ['providers', '/providers'],
  ['provider', '/providers/beta'],
])('%s', (name, path) => {
  test('is accessible and in sight', async () => {
    const page = await browser.context.newPage();
    await page.goto(service.url + path);
    await inspect(page, `site-${name}`);
    await page.close();
  });
});
