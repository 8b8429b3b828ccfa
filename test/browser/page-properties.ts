/** What every page holds, whatever it shows, measured in the page: each property is a list of what breaks it. */
import type { Page, Request, Response } from 'playwright-core';
import { expect } from 'vitest';

/** No part of a page is further away by Tab, with the links that lead past lists. */
const STOPS_MAX = 45;
const LARGE_TEXT_PX = 32;
const USUAL_TEXT_PX = 16;

/** Links and controls that the viewport, or a box that scrolls, cuts off. */
export const CUT_OFF = `[...document.querySelectorAll('a[href], button, input, select, textarea, summary')]
  .filter((element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest('.skip, .unseen'))
  .filter((element) => {
    let [left, right] = [0, document.documentElement.clientWidth];
    for (let box = element.parentElement; box; box = box.parentElement) {
      if (getComputedStyle(box).overflowX === 'visible') continue;
      const edges = box.getBoundingClientRect();
      [left, right] = [Math.max(left, edges.left), Math.min(right, edges.right)];
    }
    const edges = element.getBoundingClientRect();
    return edges.left < left - 1 || edges.right > right + 1;
  })
  .map((element) => element.outerHTML)`;
export const OVERFLOW_PX = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

/** What is folded is a part of the page. A detail of a group closes the others, so groups are taken apart. */
export const OPEN_DETAILS = `for (const details of document.querySelectorAll('details')) {
  details.removeAttribute('name');
  details.open = true;
}`;

/** Tables without a caption, and links to parts of the page that are missing. */
const STRUCTURE = `[
  ...[...document.querySelectorAll('table')].filter(({ caption }) => !caption?.textContent.trim()),
  ...[...document.querySelectorAll('a[href^="#"]')].filter(({ hash }) => !document.getElementById(hash.slice(1))),
].map((element) => element.outerHTML.slice(0, 200))`;

/** Parts of the page that are too many stops away. A stop leads to the next one and, as a link, to its part. */
const FAR = `(() => {
  const controls = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]';
  const stops = [...document.querySelectorAll(controls)].filter((element) =>
    element.tabIndex >= 0 && !element.disabled && element.checkVisibility({ visibilityProperty: true }));
  const firstFrom = (part) => stops.findIndex((stop) =>
    part.contains(stop) || part.compareDocumentPosition(stop) & Node.DOCUMENT_POSITION_FOLLOWING);
  const distances = [1];
  for (let waiting = stops.length > 0 ? [0] : []; waiting.length > 0; ) {
    const at = waiting.shift();
    const hash = stops[at].getAttribute('href')?.match(/^#(.+)/)?.[1];
    const target = hash && document.getElementById(hash);
    for (const next of [at + 1, target ? firstFrom(target) : -1]) {
      if (next < 0 || next >= stops.length || distances[next] !== undefined) continue;
      distances[next] = distances[at] + 1;
      waiting.push(next);
    }
  }
  return [...document.querySelectorAll('h2')]
    .filter((part) => part.checkVisibility() && distances[firstFrom(part)] > ${STOPS_MAX})
    .map((part) => part.textContent.slice(0, 60) + ': ' + distances[firstFrom(part)] + ' stops');
})()`;

/** Boxes that would print a part of what they hold, and controls that do nothing on paper. */
const UNPRINTED = `[
  ...[...document.querySelectorAll('.scroll, pre')].filter((box) => box.checkVisibility()
    && box.scrollHeight > box.clientHeight + 1 && getComputedStyle(box).overflowY !== 'visible'),
  ...[...document.querySelectorAll('.masthead, .filter, .search, .finder')].filter((box) => box.checkVisibility()),
].map((element) => element.outerHTML.slice(0, 200))`;

/** All that a visit with an empty cache transfers, headers included. */
const COLD_BYTES_MAX = 60_000;

/** Opens a page as a first visit does, and expects it to weigh little. @returns its status and the texts that it loaded */
export async function openCold(page: Page, url: string): Promise<{ status: number; texts: string[] }> {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.clearBrowserCache');
  let bytes = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  const loaded: Promise<string>[] = [];
  const keep = (response: Response): void => {
    if (/json|html|csv/.test(response.headers()['content-type'] ?? '')) loaded.push(response.text());
  };
  page.on('response', keep);
  const failed: string[] = [];
  const fail = (request: Request): number => failed.push(`${request.url()}: ${request.failure()?.errorText}`);
  page.on('requestfailed', fail);
  const answer = await page.goto(url, { waitUntil: 'networkidle' });
  page.off('response', keep);
  page.off('requestfailed', fail);
  expect([url, failed]).toEqual([url, []]);
  await session.detach();
  expect([url, bytes, bytes > 0 && bytes <= COLD_BYTES_MAX]).toEqual([url, bytes, true]);
  return { status: answer?.status() ?? 0, texts: await Promise.all(loaded) };
}

async function setTextSize(page: Page, standard: number): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Page.setFontSizes', { fontSizes: { standard, fixed: standard } });
  await session.detach();
}

async function expectNone(page: Page, what: string, expression: string): Promise<void> {
  expect({ page: page.url(), [what]: await page.evaluate(expression) }).toEqual({
    page: page.url(),
    [what]: [],
  });
}

/** Expects a sound structure, short ways, all of it on paper and in letters of twice the size, and nothing that moves. */
export async function expectSoundPage(page: Page): Promise<void> {
  await expectNone(page, 'structure', STRUCTURE);
  await expectNone(page, 'too far by keyboard', FAR);
  await expectNone(page, 'moving', 'document.getAnimations().map(String)');
  await page.emulateMedia({ media: 'print' });
  await expectNone(page, 'unprinted', UNPRINTED);
  await page.emulateMedia({ media: null });
  await setTextSize(page, LARGE_TEXT_PX);
  await expectNone(page, 'cut off at 200 %', CUT_OFF);
  expect([page.url(), await page.evaluate(OVERFLOW_PX)]).toEqual([page.url(), 0]);
  await setTextSize(page, USUAL_TEXT_PX);
}
