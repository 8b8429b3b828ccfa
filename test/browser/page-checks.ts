/** Checks of pages in a real browser: accessibility by axe-core, no horizontal overflow, screenshots. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { PASSWORD } from '../admin/harness.ts';
import { screenshotPath } from './browser.ts';

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const axe = await readFile(axePath, 'utf8');

/** Phone, tablet in portrait, desktop. */
const TABLET = 768;
const WIDTHS = [360, TABLET, 1600] as const;
const HEIGHT = 900;
/** Screenshots are for people and take a third of the time, so they are made only on request. */
const { SCREENSHOTS } = (import.meta as { env?: { SCREENSHOTS?: string } }).env ?? {};
const WITH_SCREENSHOTS = SCREENSHOTS === '1';

interface AxeResult {
  violations: { id: string; nodes: { target: unknown[]; failureSummary?: string }[] }[];
}

/** Lists each violated rule with its place. Pages run no script; axe is injected by the debugger. */
async function expectAccessible(page: Page): Promise<void> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe);
  const result: AxeResult = await page.evaluate("axe.run({ resultTypes: ['violations'] })");
  const violations = result.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${page.url()} ${id} ${target.join(' ')}: ${failureSummary}`),
  );
  expect(violations).toEqual([]);
}

/**
 * Checks a page at each width, in light and dark.
 * @param name of the screenshots, such as `admin-runs`; `SCREENSHOTS=1` writes them to `var/screenshots`.
 */
export async function inspect(page: Page, name: string): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: HEIGHT });
    for (const colorScheme of ['light', 'dark'] as const) {
      // The tablet layout has the same elements and colours as the others.
      if (width === TABLET && !WITH_SCREENSHOTS) continue;
      await page.emulateMedia({ colorScheme });
      if (width !== TABLET) await expectAccessible(page);
      const suffix = colorScheme === 'dark' ? '-dark' : '';
      const path = screenshotPath(`${name}-${width}${suffix}`);
      if (WITH_SCREENSHOTS) await page.screenshot({ path, fullPage: true });
    }
    const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect([name, width, await page.evaluate(overflow)]).toEqual([name, width, 0]);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** Follows a link of the main navigation. */
export async function follow(page: Page, label: string, path: string): Promise<void> {
  await page
    .getByRole('navigation', { name: 'Main' })
    .getByRole('link', { name: label, exact: true })
    .click();
  await page.waitForURL(`**${path}`);
}

export async function signIn(page: Page, url: string, email: string): Promise<void> {
  await page.goto(`${url}/admin/`);
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Dashboard' }).waitFor();
}
