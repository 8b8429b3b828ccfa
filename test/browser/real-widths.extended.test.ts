/** Pages of real indicators and countries, whose names, units and texts are as long as they come, fit a narrow window. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeReal } from '../gateway/site/real-edition.ts';
import { type Browser, openBrowser } from './browser.ts';

const NARROW = { width: 360, height: 900 };
/** Countries with long names. */
const LONG = 'VCT,COD,BIH,USA,KEN';
/** Run in the page. */
const OVERFLOW_PX = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

describeReal('pages of real series', (real) => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser(NARROW);
  });
  afterAll(() => browser?.[Symbol.asyncDispose]());

  test('do not scroll sideways at 360 px', async () => {
    const ids = real.sample(real.records, 60, ({ id }) => `width ${id}`).map(({ id }) => id);
    const countries = real.sample(real.countries, 12, ({ iso3 }) => iso3);
    const paths = [
      ...ids.map((id) => `/indicators/${id}`),
      ...ids.slice(0, 15).map((id, at) => `/compare?countries=${LONG}&indicators=${id},${ids[at + 15]}`),
      ...ids.slice(0, 8).map((id) => `/embed/indicators/${id}?picture=bars`),
      ...countries.map(({ iso3 }) => `/countries/${iso3}`),
      ...['/indicators', '/providers/imf', '/providers/gapminder', '/topics/economy', '/status'],
    ];
    const page = await browser.context.newPage();
    for (const path of paths) {
      const answer = await page.goto(real.service.url + path);
      expect([path, answer?.status()]).toEqual([path, 200]);
      expect([path, await page.evaluate(OVERFLOW_PX)]).toEqual([path, 0]);
    }
    await page.close();
  });
});
