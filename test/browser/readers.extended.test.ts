/**
 * What readers come for, on the starter data: a journalist, a developer, a teacher with a phone, and somebody who does not
 * see. `VITE_SCREENSHOTS=1` keeps what they see.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { parse } from 'csv-parse/sync';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { useAccountPages } from '../gateway/commerce/pages/harness.ts';
import { buildStarter } from '../shared-builds.ts';
import { startSite, useBrowser } from './browser.ts';
import { keepScreenshot } from './page-checks.ts';
import { openCold } from './page-properties.ts';

const runProgram = promisify(execFile);
const ID = 'world-bank.SP.DYN.LE00.IN';
const YEAR = 1990;
/** A phone far from the mast: 400 kbit/s. */
const SLOW = { offline: false, latency: 300, downloadThroughput: 50_000, uploadThroughput: 50_000 };
/** Roles that say nothing without a name, in lines of an accessibility tree. */
const UNNAMED =
  /^\s*- (link|button|table|img|combobox|slider|searchbox|textbox|region|navigation|search)(?=:|$| \[)/;

const { snapshots } = await buildStarter();
const harness = await useAccountPages({
  snapshots,
  settings: { PAGES_PER_MINUTE: '100000', PAGES_PER_DAY: '1000000' },
});
const browser = await useBrowser();
const customer = await harness.customer();
const { key } = await harness.makeKey(customer);

/** The figure of the API. */
async function trueFigure(iso3: string, year: number): Promise<number> {
  const { json } = await harness.call(
    key,
    `/v1/data?indicator=${ID}&countries=${iso3}&from=${year}&to=${year}`,
  );
  return (json as { data: { value: number }[] }).data[0]?.value ?? Number.NaN;
}

/** Moves the slider of the year, as a hand does. */
async function chooseYear(page: Page, year: number): Promise<void> {
  const years = await page.locator('#year option').allTextContents();
  const at = years.toSorted().indexOf(String(year));
  await page.getByRole('slider', { name: /^Year/ }).fill(String(at));
  await page.getByRole('heading', { name: `Map, ${year}` }).waitFor();
}

it('a journalist finds a figure of 1990, takes the table along, cites and embeds it', async () => {
  const page = await browser.context.newPage();
  await page.goto(harness.url);
  await page.getByLabel('What do you want to know?').fill('how long people live');
  await page.getByRole('button', { name: 'Search' }).click();
  await keepScreenshot(page, 'journalist-search');
  await page
    .getByRole('link', { name: /^Life expectancy at birth, total/ })
    .first()
    .click();
  await chooseYear(page, YEAR);
  const figure = await trueFigure('KEN', YEAR);
  const row = page
    .locator('.ranks tr')
    .filter({ has: page.getByRole('link', { name: 'Kenya', exact: true }) });
  expect(await row.innerText()).toContain(String(Math.round(figure * 10) / 10).slice(0, 4));
  await keepScreenshot(page, 'journalist-1990');

  const offer = page.locator('#use-section tr').filter({ hasText: String(YEAR) });
  const saving = page.waitForEvent('download');
  await offer.getByRole('link', { name: 'CSV' }).click();
  const rows: Record<string, string>[] = parse(await readFile(await (await saving).path()), {
    columns: true,
  });
  const kenya = rows.find(({ iso3 }) => iso3 === 'KEN');
  expect(Number(kenya?.value)).toBe(figure);
  expect(kenya?.licence).toContain('CC BY');

  const edition = kenya?.edition ?? '';
  const cited = await page
    .getByRole('region', { name: 'Cite', exact: true })
    .locator('pre')
    .first()
    .innerText();
  expect(cited).toContain(edition);
  const code = await page
    .getByRole('region', { name: 'Show it on your site' })
    .locator('pre')
    .first()
    .innerText();
  await using article = await startSite(code.replaceAll(/http:\/\/localhost:\d+/g, harness.url));
  await page.goto(article.url);
  await page.frameLocator('iframe').getByText(String(YEAR)).first().waitFor();
  await keepScreenshot(page, 'journalist-embed');
  await page.close();
});

it('a developer calls what the guide shows, and sees a price before anything is spent', async () => {
  const page = await browser.context.newPage();
  await page.goto(`${harness.url}/docs`);
  await page.getByRole('main').getByRole('link', { name: 'Quick start' }).first().click();
  const shown = (await page.locator('pre').allInnerTexts()).find((text) => text.includes('/v1/data')) ?? '';
  const address = new URL(/https?:[^'"\s]+\/v1\/data[^'"\s]*/.exec(shown)?.[0] ?? '');
  const called = harness.url + address.pathname + address.search;
  const { stdout } = await runProgram('curl', ['-s', '-H', `Authorization: Bearer ${key}`, called]);
  expect(JSON.parse(stdout).data.length).toBeGreaterThan(0);

  await page.goto(`${harness.url}/docs/reference/getData`);
  await page.getByLabel('Your key').fill(key);
  const before = await harness.balance(customer.account_id);
  await page.getByRole('button', { name: 'Show the price' }).click();
  await page.getByText('Nothing is charged yet').waitFor();
  const [, price] = /costs ([\d,]+) credit/.exec((await page.getByRole('status').textContent()) ?? '') ?? [];
  expect(await harness.balance(customer.account_id)).toBe(before);
  await keepScreenshot(page, 'developer-price');
  await page.getByRole('button', { name: `Send for ${price}` }).click();
  await page.getByText(`${price} credits charged`).waitFor();
  expect(await harness.balance(customer.account_id)).toBe(before - Number(price));
  await keepScreenshot(page, 'developer-answer');
  await page.goto(`${harness.url}/docs`);
  await page.getByRole('link', { name: 'Get a key' }).last().click();
  await page.getByLabel('E-mail address').waitFor();
  await page.close();
});

it('a teacher with a phone and a slow network shows a class the map of years, and the figures behind it', async () => {
  const page = await browser.context.newPage();
  await page.setViewportSize({ width: 360, height: 740 });
  const session = await browser.context.newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', SLOW);
  await openCold(page, `${harness.url}/indicators/${ID}?countries=KEN,DEU`);
  await keepScreenshot(page, 'teacher-first');
  const colours = () => page.evaluate<string>("document.querySelector('.world').innerHTML");
  const today = await colours();
  await chooseYear(page, YEAR);
  expect(await colours()).not.toBe(today);
  await page.getByRole('heading', { name: `Ranking, ${YEAR}` }).waitFor();
  expect(new URL(page.url()).searchParams.get('year')).toBe(String(YEAR));
  await keepScreenshot(page, 'teacher-map');
  const table = page.locator('#lines-table');
  await page.locator('details').filter({ has: table }).locator('summary').click();
  const row = table
    .locator('tr')
    .filter({ has: page.getByRole('rowheader', { name: String(YEAR), exact: true }) });
  const shown = (await row.locator('td').allInnerTexts()).map((text) => Number.parseFloat(text));
  for (const [at, iso3] of ['KEN', 'DEU'].entries())
    expect(Math.abs((shown[at] ?? 0) - (await trueFigure(iso3, YEAR)))).toBeLessThan(0.1);
  await keepScreenshot(page, 'teacher-table');
  await page.close();
});

it('somebody who does not see hears what each part is, what a year holds, and what was chosen, by keys alone', async () => {
  const page = await browser.context.newPage();
  await page.goto(`${harness.url}/indicators/${ID}?countries=KEN,DEU`);
  const tree = await page.locator('body').ariaSnapshot();
  expect(tree.split('\n').filter((line) => UNNAMED.test(line))).toEqual([]);
  for (const landmark of ['banner', 'main', 'contentinfo', 'search', 'navigation'] as const)
    expect(await page.getByRole(landmark).count(), landmark).toBeGreaterThan(0);
  expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
  for (const picture of await page.getByRole('img').all()) {
    const text = await picture.locator('desc').textContent();
    expect(text).toMatch(/\d.*Source: /s);
  }
  const lines = page.getByRole('slider', { name: /by year$/ });
  await lines.focus();
  await page.keyboard.press('ArrowLeft');
  const said = await page.locator('.reading[aria-live=polite]:not(:empty)').innerText();
  expect(said).toMatch(/^\d{4}\nKenya: [\d.]+\nGermany: [\d.]+$/);
  await page.close();
});
