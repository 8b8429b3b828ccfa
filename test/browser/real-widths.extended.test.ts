/**
 * Pages of real indicators and countries, whose names, units and texts are as long as they come: they fit a narrow window,
 * weigh little, and hold no whole series.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeReal } from '../gateway/site/real-edition.ts';
import { type Browser, openBrowser } from './browser.ts';
import { OVERFLOW_PX, openCold } from './page-properties.ts';

const NARROW = { width: 360, height: 900 };
/** Countries with long names. */
const LONG = 'VCT,COD,BIH,USA,KEN';
/** As many places as can be drawn. */
const DRAWN_MAX = 'VCT,COD,BIH,USA,KEN,FRA,DEU,IND,CHN,BRA,NGA,JPN';
/** Where fewer figures differ, other numbers of a page are equal to many of them. */
const DISTINCT_MIN = 2_000;
const SHOWN_SHARE_MAX = 1 / 2;
const NUMBER = /\d[\d,]*(?:\.\d+)?/g;

describeReal('pages of real series', (real) => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser(NARROW);
  });
  afterAll(() => browser?.[Symbol.asyncDispose]());

  test('do not scroll sideways at 360 px, and weigh at most 60 KB with all that they load', async () => {
    const ids = real.sample(real.records, 60, ({ id }) => `width ${id}`).map(({ id }) => id);
    const countries = real.sample(real.countries, 12, ({ iso3 }) => iso3);
    const paths = [
      '/',
      ...ids.map((id) => `/indicators/${id}`),
      ...ids.slice(0, 15).map((id, at) => `/compare?countries=${LONG}&indicators=${id},${ids[at + 15]}`),
      ...ids.slice(0, 8).map((id) => `/embed/indicators/${id}?picture=bars`),
      ...countries.map(({ iso3 }) => `/countries/${iso3}`),
      ...['/indicators', '/indicators?q=life', '/countries', '/providers/imf', '/providers/gapminder'],
      ...['/topics', '/topics/economy', '/status', '/pricing', '/docs', '/docs/reference/getData'],
    ];
    const page = await browser.context.newPage();
    for (const path of paths) {
      expect([path, (await openCold(page, real.service.url + path)).status]).toEqual([path, 200]);
      expect([path, await page.evaluate(OVERFLOW_PX)]).toEqual([path, 0]);
    }
    await page.close();
  });

  test('hold no whole series, with twelve places drawn and all that their scripts load', async () => {
    const page = await browser.context.newPage();
    let checked = 0;
    for (const record of real.sample(real.records, 25, ({ id }) => `values ${id}`)) {
      const held = new Set((await real.history(record, {})).map(({ value }) => String(value)));
      if (held.size < DISTINCT_MIN) continue;
      const url = `${real.service.url}/indicators/${record.id}?countries=${DRAWN_MAX}`;
      for (const text of (await openCold(page, url)).texts) {
        const shown = new Set(text.match(NUMBER)?.map((number) => number.replaceAll(',', '')));
        const share = [...held].filter((value) => shown.has(value)).length / held.size;
        expect([record.id, share, share <= SHOWN_SHARE_MAX]).toEqual([record.id, share, true]);
      }
      checked++;
    }
    expect(checked).toBeGreaterThan(5);
    await page.close();
  });
});
