/** Every kind of page of the site in a real browser: accessible, in sight at every width, in both schemes, within its policy. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Service } from '../gateway/service.ts';
import { type Browser, openBrowser } from './browser.ts';
import { inspect } from './page-checks.ts';

let service: Service;
let browser: Browser;
/** Paths by the name of their kind. */
let kinds: Record<string, string>;

beforeAll(async () => {
  service = await Service.start();
  browser = await openBrowser();
  const { data: indicators } = (await service.get('/v1/indicators')).json;
  const { data: countries } = (await service.get('/v1/countries')).json;
  const idOf = (tier: string): string =>
    indicators.find(
      (record: { access_tier: string; no_rank: boolean }) => record.access_tier === tier && !record.no_rank,
    ).id;
  const codes = countries.slice(0, 3).map(({ iso3 }: { iso3: string }) => iso3);
  kinds = {
    home: '/',
    indicators: '/indicators?q=a',
    indicator: `/indicators/${idOf('open')}`,
    display: `/indicators/${idOf('display')}`,
    countries: '/countries',
    country: `/countries/${codes[0]}`,
    compare: `/compare?countries=${codes.join(',')}&indicators=${idOf('open')}`,
    topics: '/topics',
    providers: '/providers',
    pricing: '/pricing',
    status: '/status',
    docs: '/docs',
    guide: '/docs/quick-start',
    reference: '/docs/reference/getData',
    terms: '/terms',
    missing: '/countries/XXX',
  };
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await service.stop();
});

it('is accessible, fits every width in both schemes, and breaks no rule of its policy', async () => {
  const page = await browser.context.newPage();
  const refused: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !/404/.test(message.text())) refused.push(message.text());
  });
  const faults: string[] = [];
  for (const [name, path] of Object.entries(kinds)) {
    await page.goto(service.url + path);
    await inspect(page, `site-${name}`).catch((error: Error) => faults.push(`${name}: ${error.message}`));
  }
  expect(faults).toEqual([]);
  expect(refused).toEqual([]);
});
