/**
 * Tab and arrows through every control of every kind of page, with all that is folded opened: the focus always moves on,
 * in the order of the page, and leaves it at the end; arrows ask for nothing, but on a slider, and leave the focus where it is.
 */
import type { Page, Request } from 'playwright-core';
import { expect, it } from 'vitest';
import { useService } from '../gateway/service.ts';
import { useBrowser } from './browser.ts';
import { OPEN_DETAILS } from './page-properties.ts';
import { SITE_PAGES } from './site-paths.ts';

const ARROWS = ['ArrowDown', 'ArrowRight', 'ArrowUp', 'ArrowLeft'];
/** Longer than any script waits before it asks. */
const SETTLED_MS = 2_000;
const STOPS_MAX = 1_000;

interface Stop {
  what: string;
  isSlider: boolean;
  isLink: boolean;
  /** Behind the stop before it. */
  isForward: boolean;
}

/** Run in the page: what has the focus, null when Tab has left the page. */
const STOP = `(() => {
  const element = document.activeElement;
  const before = window.stopBefore;
  window.stopBefore = element;
  if (!element || element === document.body) return null;
  return {
    what: element.outerHTML.slice(0, 160),
    isSlider: element.type === 'range',
    isLink: element.matches('a[href]'),
    isForward: !before?.isConnected || before === document.body
      || Boolean(before.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING),
  };
})()`;
const HAS_SAME_FOCUS = 'document.activeElement === window.stopBefore';

const service = await useService();
const browser = await useBrowser();

/** A page whose clock is moved by the test, and the addresses that it has asked for, and the answers that its script waits for. */
async function newPage(): Promise<{ page: Page; asked: Set<string>; awaited: Set<Request> }> {
  const page = await browser.context.newPage();
  const [asked, awaited] = [new Set<string>(), new Set<Request>()];
  page.on('request', (request) => {
    asked.add(request.url());
    if (request.resourceType() === 'fetch') awaited.add(request);
  });
  page.on('requestfinished', (request) => awaited.delete(request));
  page.on('requestfailed', (request) => awaited.delete(request));
  await page.clock.install();
  return { page, asked, awaited };
}

it.each(SITE_PAGES)('%s has no trap', async (_name, path) => {
  const { page, asked, awaited } = await newPage();
  const pressArrows = async ({ what, isSlider }: Stop): Promise<void> => {
    asked.clear();
    awaited.clear();
    for (const key of ARROWS) await page.keyboard.press(key);
    await page.clock.runFor(SETTLED_MS);
    if (isSlider) return expect.poll(() => awaited.size).toBe(0);
    const keepsFocus = await page.evaluate(HAS_SAME_FOCUS);
    expect({ path, what, asked: [...asked], keepsFocus }).toEqual({
      path,
      what,
      asked: [],
      keepsFocus: true,
    });
  };
  await page.goto(service.url + path);
  await page.evaluate(OPEN_DETAILS);
  const address = new URL(page.url()).pathname;
  const stops: string[] = [];
  for (;;) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate<Stop | null>(STOP);
    if (stop === null) break;
    expect([stop.what, stop.isForward, stops.length < STOPS_MAX]).toEqual([stop.what, true, true]);
    stops.push(stop.what);
    // Links have no arrows of their own; one of them tells whether the page has.
    if (!stop.isLink || stops.length === 1) await pressArrows(stop);
  }
  expect(stops.length).toBeGreaterThan(10);
  // And back: the focus leaves the page at its start.
  for (const _ of stops) await page.keyboard.press('Shift+Tab');
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
  expect(new URL(page.url()).pathname).toBe(address);
  await page.close();
});
