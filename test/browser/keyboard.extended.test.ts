/**
 * The site by keyboard alone: from a search to the first key with Tab, Enter, arrows and letters. Focus is always to be
 * seen, and moves through the page in the order in which it is read.
 */
import { describe, expect, it } from 'vitest';
import { useAccountPages } from '../gateway/commerce/pages/harness.ts';
import { useBrowser } from './browser.ts';

const EMAIL = 'keyboard@example.org';
/** No page of the fixture has more stops. */
const STOPS_MAX = 120;
/** Drawn around what has the focus. */
const OUTLINE_MIN_PX = 2;

interface Focus {
  name: string;
  tag: string;
  outline_px: number;
  isInView: boolean;
  tabIndex: number;
  /** Position among all elements of the document. */
  place: number;
}

/** Run in the page. Null where nothing has the focus. */
const FOCUS = `(() => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const style = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  const label = element.getAttribute('aria-label') ?? element.labels?.[0]?.innerText ?? element.innerText ?? '';
  return {
    name: label.trim().replace(/\\s+/g, ' '),
    tag: element.localName,
    outline_px: style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth),
    isInView: box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
    tabIndex: element.tabIndex,
    place: [...document.querySelectorAll('*')].indexOf(element),
  };
})()`;

const harness = await useAccountPages({ settings: { PAGES_PER_MINUTE: '100000', PAGES_PER_DAY: '1000000' } });
const browser = await useBrowser();
const page = await browser.context.newPage();

const focusOf = (): Promise<Focus | null> => page.evaluate<Focus | null>(FOCUS);

/** Presses Tab once. @returns what has the focus then */
async function tab(): Promise<Focus> {
  await page.keyboard.press('Tab');
  const focus = await focusOf();
  if (focus === null) throw new Error(`Tab left ${page.url()}`);
  const where = `${page.url()}: ${focus.tag} ${focus.name}`;
  expect([where, focus.outline_px >= OUTLINE_MIN_PX, focus.isInView]).toEqual([where, true, true]);
  // Zero: in the order of the document.
  expect([where, focus.tabIndex]).toEqual([where, 0]);
  return focus;
}

/** Presses Tab until something of the name has the focus, never backwards. */
async function tabTo(name: string | RegExp): Promise<Focus> {
  let place = (await focusOf())?.place ?? -1;
  for (let stop = 0; stop < STOPS_MAX; stop++) {
    const focus = await tab();
    expect([focus.name, focus.place > place]).toEqual([focus.name, true]);
    if (typeof name === 'string' ? focus.name === name : name.test(focus.name)) return focus;
    place = focus.place;
  }
  throw new Error(`no ${name} on ${page.url()}`);
}

const heading = (name: string | RegExp) => page.getByRole('heading', { name }).first().waitFor();

describe('a visitor with a keyboard alone', () => {
  it('skips the header, searches and opens an indicator', async () => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(harness.url);
    expect((await tab()).name).toBe('Skip to content');
    await page.keyboard.press('Enter');
    expect((await tab()).name).toBe('What do you want to know?');
    await page.keyboard.type('life expectancy');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/indicators?q=life+expectancy');
    await tabTo('Life expectancy');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/indicators/alpha.life_expectancy');
  });

  it('changes the year of the map with arrows, and stays on the slider', async () => {
    await tabTo('Skip to content');
    await page.keyboard.press('Enter');
    const slider = await tabTo('Year of map and ranking');
    await page.keyboard.press('ArrowLeft');
    await heading('Map, 2020');
    await page.keyboard.press('ArrowLeft');
    await heading('Map, 2019');
    expect(await focusOf()).toMatchObject({ name: slider.name, tag: 'input' });
    expect(await page.getByRole('slider', { name: slider.name }).getAttribute('aria-valuetext')).toBe('2019');
  });

  it('reads the ranking and follows it to a country', async () => {
    await heading(/^(Ranking|Figures), 2019/);
    await tabTo('Figures of 2019');
    await tabTo('Germany');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/countries/DEU');
    await page.goBack();
    await page.waitForURL('**/indicators/alpha.life_expectancy?**');
  });

  it('picks countries by their letters, and removes one', async () => {
    await page.goto(`${harness.url}/indicators/alpha.life_expectancy?countries=KEN,USA#histories`);
    const field = await tabTo(/^Add a country/);
    await page.keyboard.type('Ger');
    await page.locator('#add-suggestions [role=option]').first().waitFor();
    for (const key of ['ArrowDown', 'ArrowUp', 'ArrowDown']) await page.keyboard.press(key);
    expect(new URL(page.url()).search).toBe('?countries=KEN,USA');
    await page.keyboard.press('Enter');
    await page.locator('#histories .chips').getByText('Germany').waitFor();
    expect(await focusOf()).toMatchObject({ name: field.name, tag: 'input' });
    await page.keyboard.press('Shift+Tab');
    expect(await focusOf()).toMatchObject({ name: 'Remove Germany', tag: 'a' });
    await page.keyboard.press('Enter');
    await page.locator('#histories .chips').getByText('Germany').waitFor({ state: 'detached' });
  });

  it('finds the price and signs up', async () => {
    await tabTo('Skip to content');
    await page.keyboard.press('Enter');
    await tabTo('What credits cost, and what is free');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/pricing');
    await heading(/costs one credit/);
    await tabTo('Skip to content');
    await page.keyboard.press('Enter');
    await tabTo('Get a key');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/account/sign-up');
    await tabTo('Skip to content');
    await page.keyboard.press('Enter');
    await tabTo(/^E-mail address/);
    await page.keyboard.type(EMAIL);
    const mail = harness.mailbox.next(EMAIL);
    await tabTo('Create account');
    await page.keyboard.press('Enter');
    await heading('Check your e-mail');
    expect(String((await mail).link)).toContain('/account/');
  });

  it('opens and closes the menu of a narrow window', async () => {
    await page.setViewportSize({ width: 360, height: 800 });
    await page.goto(harness.url);
    await tabTo('Menu');
    await page.keyboard.press('Enter');
    expect((await tab()).name).toBe('Indicators');
    await page.keyboard.press('Escape');
    expect(await page.getByRole('link', { name: 'Countries', exact: true }).isVisible()).toBe(false);
    expect(await focusOf()).toMatchObject({ name: 'Menu', tag: 'button' });
  });

  it('reaches every stop of each kind of page in order, and sees where the focus is', async () => {
    await page.setViewportSize({ width: 1280, height: 900 });
    const paths = [
      '/',
      '/indicators?q=a',
      '/indicators/gamma.reserves',
      '/countries/KEN',
      '/compare',
      '/topics',
    ];
    for (const path of [...paths, '/providers', '/pricing', '/status', '/docs/reference/getData']) {
      await page.goto(harness.url + path);
      await tabTo('Contact');
    }
  });
});
