/** Every kind of page of the site in a real browser: accessible, in sight at every width, in both schemes, within its policy. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Service } from '../gateway/service.ts';
import { type Browser, openBrowser } from './browser.ts';
import { inspect } from './page-checks.ts';

let service: Service;
let browser: Browser;
let page: Page;
/** What the browser refused to load or run. */
const refused: string[] = [];
/** What stands for names in the paths below. */
const known = new Map<string, string>();

beforeAll(async () => {
  service = await Service.start();
  browser = await openBrowser();
  page = await browser.context.newPage();
  page.on('console', (message) => {
    if (message.type() === 'error' && !/404/.test(message.text())) refused.push(message.text());
  });
  const { data: indicators } = (await service.get('/v1/indicators')).json;
  const { data: countries } = (await service.get('/v1/countries')).json;
  for (const { id, access_tier, no_rank } of indicators) if (!no_rank) known.set(access_tier, id);
  for (const [at, { iso3 }] of countries.slice(0, 3).entries()) known.set(`country${at}`, iso3);
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await service.stop();
});

it.each([
  ['home', '/'],
  ['indicators', '/indicators?q=a'],
  ['indicator', '/indicators/{open}'],
  ['display-only', '/indicators/{display}'],
  ['countries', '/countries'],
  ['country', '/countries/{country0}'],
  ['compare', '/compare?countries={country0},{country1},{country2}&indicators={open}'],
  ['topics', '/topics'],
  ['providers', '/providers'],
  ['pricing', '/pricing'],
  ['status', '/status'],
  ['docs', '/docs'],
  ['guide', '/docs/quick-start'],
  ['guide-webhooks', '/docs/webhooks'],
  ['reference', '/docs/reference/getData'],
  ['terms', '/terms'],
  ['missing', '/countries/ZZZ'],
])(
  '%s is accessible, fits every width in both schemes and breaks no rule of its policy',
  async (name, path) => {
    await page.goto(
      service.url + path.replaceAll(/\{(\w+)\}/g, (_whole, key: string) => known.get(key) ?? key),
    );
    await inspect(page, `site-${name}`);
    expect(refused).toEqual([]);
  },
);
