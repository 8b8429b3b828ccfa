/** What scripts and answers put on a page is accessible, too: suggestions, readings, answers, refusals, empty lists. */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { FIXTURE_ID } from '../gateway/fixture-snapshot.ts';
import { useService } from '../gateway/service.ts';
import { useBrowser } from './browser.ts';
import { expectAccessible } from './page-checks.ts';

const SERIES = '/indicators/alpha.life_expectancy';
const WIDTHS = [360, 1280];

const service = await useService();
const browser = await useBrowser();

async function type(page: Page): Promise<void> {
  await page.getByLabel('What do you want to know?').pressSequentially('life');
  await page.getByRole('option').first().waitFor();
  await page.keyboard.press('ArrowDown');
}

async function read(page: Page): Promise<void> {
  await page.getByRole('slider', { name: /by year$/ }).focus();
  await page.keyboard.press('ArrowLeft');
  await page.locator('.reading:not(:empty)').waitFor();
}

async function readMap(page: Page): Promise<void> {
  await page.getByRole('group', { name: /^Map/ }).focus();
  await page.keyboard.press('ArrowRight');
  await page.locator('.tooltip:visible').waitFor();
}

async function play(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Play' }).click();
  await page.getByRole('button', { name: 'Pause' }).waitFor();
}

async function send(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('region', { name: 'Answer of your call' }).waitFor();
}

const nothing = async (): Promise<void> => {};

it.each<[state: string, path: string, reach: (page: Page) => Promise<void>]>([
  ['suggestions', '/', type],
  ['a reading of lines', `${SERIES}?countries=KEN,DEU`, read],
  ['a reading in a frame', `/embed${SERIES}?picture=lines&countries=KEN,DEU`, read],
  ['a country of the map', SERIES, readMap],
  ['a map that moves', SERIES, play],
  ['a continent, ordered by name', `${SERIES}?group=africa&sort=name`, nothing],
  ['a cited edition', `/editions/${FIXTURE_ID}`, nothing],
  ['an answer', '/docs/reference/listTopics', send],
  ['unknown places', `${SERIES}?countries=QQ&transform=nonsense`, nothing],
  ['a year without figures', `${SERIES}?year=1900`, nothing],
  ['no hits', '/indicators?q=xqzzk', nothing],
  ['a page behind the last', '/indicators?page=900', nothing],
  ['no country', '/countries?region=Nowhere', nothing],
  ['nothing compared', '/compare?countries=QQ', nothing],
])('%s: are accessible in both schemes, on a phone and a laptop', async (_state, path, reach) => {
  const page = await browser.context.newPage();
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    expect((await page.goto(service.url + path))?.status()).toBeLessThan(500);
    await reach(page);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await expectAccessible(page, colorScheme);
    }
  }
  await page.close();
});
