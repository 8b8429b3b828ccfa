/** Checks of pages in a real browser: accessibility by axe-core, nothing out of sight, header on one line, screenshots. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import fc from 'fast-check';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { PASSWORD } from '../admin/harness.ts';
import { SEED } from '../environment.ts';
import { screenshotPath } from './browser.ts';
import { CUT_OFF, expectSoundPage, OPEN_DETAILS, OVERFLOW_PX } from './page-properties.ts';

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const axe = await readFile(axePath, 'utf8');

/** Phone, tablet in portrait, laptop, large screen. */
const PHONE = 360;
const TABLET = 768;
const LAPTOP = 1280;
const LARGE = 1920;
const anyWidth = fc.noBias(fc.integer({ min: PHONE, max: LARGE }));
/** One width more for each seed. */
const DRAWN = SEED === null ? [] : fc.sample(anyWidth, { seed: SEED, numRuns: 1 });
const WIDTHS = [PHONE, TABLET, LAPTOP, LARGE, ...DRAWN];
const HEIGHT = 900;
const MAX_HEADER_PX = 64;
/** Screenshots are for people and take a third of the time, so they are made only on request. */
const { VITE_SCREENSHOTS } = (import.meta as { env?: { VITE_SCREENSHOTS?: string } }).env ?? {};
const WITH_SCREENSHOTS = VITE_SCREENSHOTS === '1';

interface AxeResult {
  violations: { id: string; nodes: { target: unknown[]; failureSummary?: string }[] }[];
}

/** The rules that read colours. The dark scheme changes nothing else. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/** Lists each violated rule with its place. Pages run no script; axe is injected by the debugger. */
export async function expectAccessible(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe);
  const rules = colorScheme === 'dark' ? { runOnly: { type: 'rule', values: COLOUR_RULES } } : {};
  const options = JSON.stringify({ resultTypes: ['violations'], ...rules });
  const result: AxeResult = await page.evaluate(`axe.run(${options})`);
  const violations = result.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${page.url()} ${id} ${target.join(' ')}: ${failureSummary}`),
  );
  expect(violations).toEqual([]);
}

/** None in embedded pages. */
const HEADER_PX = "document.querySelector('header')?.offsetHeight ?? 0";

/** Expects the page not to scroll sideways and to show each action, those of its menus included. */
async function expectEverythingInSight(page: Page, name: string, width: number): Promise<void> {
  const where = { name, width };
  expect({ ...where, overflow_px: await page.evaluate(OVERFLOW_PX) }).toEqual({ ...where, overflow_px: 0 });
  expect({ ...where, cutOff: await page.evaluate(CUT_OFF) }).toEqual({ ...where, cutOff: [] });
  expect(await page.evaluate(HEADER_PX), `header of ${name} at ${width} px`).toBeLessThanOrEqual(
    MAX_HEADER_PX,
  );
  for (const menu of await page.locator('header button[popovertarget]:visible').all()) {
    await menu.click();
    expect({ ...where, cutOff: await page.evaluate(CUT_OFF) }).toEqual({ ...where, cutOff: [] });
    if (width === PHONE) await expectAccessible(page, 'light');
    await page.keyboard.press('Escape');
  }
}

/** What is seen now, for people to look at. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  if (WITH_SCREENSHOTS) await page.screenshot({ path: screenshotPath(name), fullPage: true });
}

/** Paths of the pages that were inspected, without queries. */
const inspected = new Set<string>();

/** Routes below a root that have a page which was not inspected; paths with `*` have none. */
export function unseenPages(routes: readonly { method: string; url: string }[], root: string): string[] {
  const pages = routes.filter(
    ({ method, url }) => method.split(',').includes('GET') && url.startsWith(root) && !url.includes('*'),
  );
  const isSeen = (url: string): boolean => {
    const pattern = new RegExp(`^${url.replaceAll(/:[a-z_]+/g, '[^/]+')}/?$`);
    return [...inspected].some((path) => pattern.test(path));
  };
  return [...new Set(pages.map(({ url }) => url))].filter((url) => !isSeen(url));
}

/**
 * Checks a page at each width, in light and dark, and leaves it as wide as on a laptop.
 * @param name of the screenshots, such as `admin-runs`; `VITE_SCREENSHOTS=1` writes them to `var/screenshots`.
 */
export async function inspect(page: Page, name: string): Promise<void> {
  inspected.add(new URL(page.url()).pathname);
  await page.setViewportSize({ width: LAPTOP, height: HEIGHT });
  await expectSoundPage(page);
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: HEIGHT });
    if (width === LARGE) await page.evaluate(OPEN_DETAILS);
    await expectEverythingInSight(page, name, width);
    for (const colorScheme of ['light', 'dark'] as const) {
      // The tablet has the layout of the phone, the large screen that of the laptop.
      const isChecked = width === PHONE || width === LAPTOP || width === LARGE;
      if (!isChecked && !WITH_SCREENSHOTS) continue;
      await page.emulateMedia({ colorScheme });
      if (isChecked) await expectAccessible(page, colorScheme);
      await keepScreenshot(page, `${name}-${width}${colorScheme === 'dark' ? '-dark' : ''}`);
    }
    await page.emulateMedia({ colorScheme: 'light' });
  }
  await page.setViewportSize({ width: LAPTOP, height: HEIGHT });
}

/** Follows a link of the area's navigation. @param seen inspects what it leads to, under this name */
export async function follow(page: Page, label: string, path: string, seen?: string): Promise<void> {
  await page
    .getByRole('navigation', { name: /^(Account|Operations)$/ })
    .getByRole('link', { name: label, exact: true })
    .click();
  await page.waitForURL(`**${path}`);
  if (seen !== undefined) await inspect(page, seen);
}

/** Fills in the form of the page that is shown. */
export async function signInHere(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

export async function signIn(page: Page, url: string, email: string): Promise<void> {
  await page.goto(`${url}/admin/`);
  await signInHere(page, email, PASSWORD);
  await page.getByRole('heading', { name: 'Dashboard' }).waitFor();
}

/** What pages are walked with. Each step inspects what it leads to where a name is given to it. */
export const walker = (page: Page, url: string) => {
  type Text = string | RegExp;
  const then = async (step: Promise<unknown>, seen?: string): Promise<void> => {
    await step;
    if (seen !== undefined) await inspect(page, seen);
  };
  const button = (name: Text) => page.getByRole('button', { name });
  const link = (name: Text) => page.getByRole('main').getByRole('link', { name });
  return {
    button,
    link,
    go: (path: string, seen?: string) => then(page.goto(new URL(path, url).href), seen),
    press: (name: Text, seen?: string) => then(button(name).click(), seen),
    open: (name: Text, seen?: string) => then(link(name).click(), seen),
    /** Waits for a text. */
    shows: (text: Text, seen?: string) => then(page.getByText(text).waitFor(), seen),
    heading: (name: Text, seen?: string) => then(page.getByRole('heading', { name }).first().waitFor(), seen),
    /** By labels. */
    async fill(fields: Record<string, string>): Promise<void> {
      for (const [label, value] of Object.entries(fields)) await page.getByLabel(label).fill(value);
    },
  };
};
export type Walker = ReturnType<typeof walker>;
