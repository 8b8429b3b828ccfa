/**
 * Every kind of page of the site, embedded pictures and the pages of patterns in a real browser: accessible, in sight at
 * every width, in both schemes, within their policy.
 */
import { expect, it } from 'vitest';
import { stopAfterTests } from '../after-tests.ts';
import { useService } from '../gateway/service.ts';
import { PATTERN_PATHS, startPatternPages } from '../gateway/web/patterns/pattern-pages.ts';
import { startSite, useBrowser } from './browser.ts';
import { inspect } from './page-checks.ts';
import { openCold } from './page-properties.ts';
import { SITE_PAGES } from './site-paths.ts';

const EMBED = '/embed/indicators/alpha.life_expectancy';
/** Run in the page. */
const WIDTHS_OF_SHAPES =
  "[...document.querySelectorAll('use')].map((use) => use.getBoundingClientRect().width)";
const FILLS = "[...document.querySelectorAll('.world > g')].map((group) => getComputedStyle(group).fill)";

const service = await useService();
const patterns = await stopAfterTests(startPatternPages());
const browser = await useBrowser();

/** With what the browser refuses to load or run, but for the status of a page that is missing. */
async function newPage() {
  const page = await browser.context.newPage();
  const refused: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !/404/.test(message.text())) refused.push(message.text());
  });
  return { page, refused };
}

it.each([
  ...SITE_PAGES,
  ...['map', 'lines', 'bars'].map((picture) => [`embed-${picture}`, `${EMBED}?picture=${picture}`]),
  ...PATTERN_PATHS.map((path) => [path.slice(1).replaceAll('/', '-'), path]),
] as [string, string][])(
  '%s is accessible, fits every width in both schemes and breaks no rule of its policy',
  async (name, path) => {
    const { page, refused } = await newPage();
    const url = (path.startsWith('/patterns/') ? patterns : service).url + path;
    // The pages of patterns hold every component, uncompressed.
    const { status } = path.startsWith('/patterns/')
      ? { status: (await page.goto(url))?.status() }
      : await openCold(page, url);
    expect(status).toBe(name === 'site-missing' ? 404 : 200);
    await inspect(page, name);
    if (path.startsWith(EMBED))
      expect(await page.getByRole('img', { name: /^Life expectancy, years/ }).count()).toBe(1);
    expect(refused).toEqual([]);
    await page.close();
  },
);

it('an indicator: a country that is added is drawn and priced, and the slider changes the map', async () => {
  const { page } = await newPage();
  await page.goto(`${service.url}/indicators/alpha.life_expectancy?countries=KEN`);
  await page.getByLabel('Add a country').fill('Germany');
  await page.keyboard.press('Enter');
  await page.locator('#histories .chips').getByText('Germany').waitFor();
  expect(new URL(page.url()).search).toBe('?countries=KEN&add=Germany');
  expect(await page.locator('#use-section h3').textContent()).toContain('Kenya, Germany');
  await page.getByRole('slider', { name: 'Year of map and ranking' }).press('ArrowLeft');
  await page.getByRole('heading', { name: 'Ranking, 2020' }).waitFor();
  expect(new URL(page.url()).search).toBe('?countries=KEN%2CDEU&year=2020');
  await page.close();
});

/** Run in the page: how many countries each class of the map has, and how many of them say a figure. */
const MAP_STATE =
  "[[...document.querySelectorAll('.world > g')].map((group) => group.children.length), document.querySelectorAll('.world title').length]";

it('an indicator: Play colours the map by its classes alone, and rests on map and ranking of the last year', async () => {
  const { page, refused } = await newPage();
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await page.goto(`${service.url}/indicators/alpha.life_expectancy?year=2019`);
  const before = asked.length;
  await page.getByRole('button', { name: 'Play' }).click();
  await page.getByRole('heading', { name: 'Ranking, 2021' }).waitFor();
  expect(asked.slice(before)).toEqual([
    '/indicators/alpha.life_expectancy/classes.json',
    '/indicators/alpha.life_expectancy',
  ]);
  expect(new URL(page.url()).search).toBe('?year=2021');
  expect(await page.locator('#year-form p[role=status]').textContent()).toBe('Ranking, 2021');
  const rested = await page.evaluate<[number[], number]>(MAP_STATE);
  await page.goto(`${service.url}/indicators/alpha.life_expectancy?year=2021`);
  expect(rested).toEqual(await page.evaluate(MAP_STATE));
  expect(refused).toEqual([]);
  await page.close();
});

it('an indicator: while the year moves, countries have the classes of the year, and say no figure of another', async () => {
  const { page } = await newPage();
  await page.goto(`${service.url}/indicators/alpha.life_expectancy?year=2020`);
  const [drawn] = await page.evaluate<[number[], number]>(MAP_STATE);
  await page.goto(`${service.url}/indicators/alpha.life_expectancy?year=2019`);
  // The page of the year does not come, so that what moved stays.
  await page.route('**/alpha.life_expectancy?year=2020', () => {});
  await page.getByRole('slider', { name: 'Year of map and ranking' }).press('ArrowRight');
  await page.getByRole('heading', { name: 'Map, 2020' }).waitFor();
  expect(await page.evaluate(MAP_STATE)).toEqual([drawn, 0]);
  expect(await page.locator('#ranking-of-year').getAttribute('aria-busy')).toBe('true');
  await page.close();
});

it('an indicator: nothing plays where motion is not wanted, and a series for display only steps', async () => {
  const { page } = await newPage();
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.goto(`${service.url}/indicators/alpha.life_expectancy`);
  expect(await page.getByRole('button', { name: 'Play' }).count()).toBe(0);
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  await page.goto(`${service.url}/indicators/gamma.reserves`);
  expect(await page.getByRole('button', { name: 'Play' }).count()).toBe(0);
  await page.getByRole('slider', { name: 'Year of map and ranking' }).press('ArrowLeft');
  await page.getByRole('heading', { name: 'Map, 2018' }).waitFor();
  await page.close();
});

it('an indicator: arrow keys read the countries of the map, a link zooms it, and a head sorts the ranking', async () => {
  const { page } = await newPage();
  await page.goto(`${service.url}/indicators/alpha.life_expectancy`);
  const map = page.getByRole('group', { name: 'Map: arrow keys read its countries' });
  await map.focus();
  const told: (string | null)[] = [];
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowLeft']) {
    await page.keyboard.press(key);
    told.push(await map.getByRole('status').textContent());
    expect(await page.locator('.tooltip').textContent()).toBe(told.at(-1));
  }
  expect(told[0]).toMatch(/^\S.*: \S+ years/);
  expect(told[0]).not.toBe(told[1]);
  expect(told[2]).toBe(told[0]);
  await page.keyboard.press('Tab');
  expect(await page.locator('.tooltip').isVisible()).toBe(false);
  await page.locator('#sort-name').press('Enter');
  await page.locator('th[aria-sort=ascending] #sort-name').waitFor();
  await page.waitForFunction("document.activeElement.id === 'sort-name'");
  await page.getByRole('link', { name: 'Africa', exact: true }).press('Enter');
  await page.getByRole('heading', { name: 'Map, 2021, Africa' }).waitFor();
  expect(new URL(page.url()).search).toBe('?group=un-africa&sort=name');
  await page.close();
});

it('a map is drawn in a frame of another site, with its outlines out of their file', async () => {
  const frameHtml = `<iframe src="${service.url}${EMBED}" width="600" height="500"></iframe>`;
  await using other = await startSite(frameHtml);
  const { page, refused } = await newPage();
  await page.goto(other.url);
  await page.frameLocator('iframe').getByRole('heading', { name: 'Life expectancy' }).waitFor();
  const frame = page.frames().at(-1);
  // A shape whose outline did not arrive has no size.
  const sizes = await frame?.evaluate<number[]>(WIDTHS_OF_SHAPES);
  expect(sizes?.length).toBeGreaterThan(5);
  expect(Math.min(...(sizes ?? []))).toBeGreaterThan(0);
  expect(await frame?.evaluate<string[]>(FILLS)).toContain('url("#picture-hatch")');
  expect(refused).toEqual([]);
  await page.close();
});
