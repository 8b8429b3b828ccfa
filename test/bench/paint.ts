/**
 * First contentful paint of pages in a real browser with an empty cache, over a connection like fast 3G: 1.6 Mbit/s down,
 * 750 kbit/s up, and 150 ms until an answer begins.
 */
import type { Page } from 'playwright-core';
import { openBrowser } from '../browser/browser.ts';
import type { Row } from './report.ts';
import type { OpenSnapshot, Session } from './session.ts';

const PAINTED_WITHIN_MS = 1_500;
/** Each with another page of its kind. */
const ROUNDS = 7;
const KBIT_BYTES = 1000 / 8;
const FAST_3G = {
  offline: false,
  latency: 150,
  downloadThroughput: 1_600 * KBIT_BYTES,
  uploadThroughput: 750 * KBIT_BYTES,
};
/** The screen of a phone. */
const VIEWPORT = { width: 412, height: 823 };

/** In the page; milliseconds from the start of the navigation. */
const FIRST_PAINT = `new Promise((resolve) => {
  const find = (list) => list.getEntries().find(({ name }) => name === 'first-contentful-paint');
  const observe = (list) => find(list) && resolve(find(list).startTime);
  new PerformanceObserver(observe).observe({ type: 'paint', buffered: true });
})`;

interface Kind {
  name: string;
  path: (round: number) => string;
}

function kindsOf({ catalogue: { indicators, countries } }: OpenSnapshot): Kind[] {
  const spread = <Item>(items: readonly Item[], round: number): Item =>
    items[Math.floor(((round + 1) * items.length) / (ROUNDS + 1))] as Item;
  const id = (round: number): string => spread(indicators, round).record.id;
  return [
    { name: 'home', path: () => '/' },
    { name: 'indicator', path: (round) => `/indicators/${id(round)}` },
    { name: 'country', path: (round) => `/countries/${spread(countries, round).iso3}` },
    { name: 'compare', path: (round) => `/compare?indicators=${id(round)}&countries=KEN,BRA,IND` },
  ];
}

async function firstPaint(page: Page, url: string): Promise<number> {
  const answer = await page.goto(url, { waitUntil: 'load' });
  if (answer?.status() !== 200) throw new Error(`${url} answered ${answer?.status()}`);
  return page.evaluate<number>(FIRST_PAINT);
}

export async function paintRows(session: Session): Promise<Row[]> {
  const kinds = kindsOf(await session.snapshot());
  await using gateway = await session.gateway();
  const rows: Row[] = [];
  for (const { name, path } of kinds) {
    session.say(`first contentful paint: ${name}`);
    const rounds: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      // A new profile: nothing is cached, and no connection is open.
      await using browser = await openBrowser(VIEWPORT);
      const page = await browser.context.newPage();
      const devtools = await browser.context.newCDPSession(page);
      await devtools.send('Network.enable');
      await devtools.send('Network.emulateNetworkConditions', FAST_3G);
      rounds.push(await firstPaint(page, `http://127.0.0.1:${gateway.port}${path(round)}`));
    }
    rows.push({
      name: `first contentful paint over fast 3G: ${name}`,
      measured: { unit: 'ms', rounds },
      goal: { at: 'most', bound: PAINTED_WITHIN_MS },
    });
  }
  return rows;
}
