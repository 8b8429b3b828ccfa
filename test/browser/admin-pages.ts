/** Opening pages in a real browser: photographing, asking axe-core, and signing in to the operator area. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { PASSWORD } from '../admin/harness.ts';
import { screenshotPath } from './browser.ts';

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const axe = await readFile(axePath, 'utf8');

/** A phone, a tablet held upright, a desk. */
const TABLET = 768;
const WIDTHS = [360, TABLET, 1600] as const;
const HEIGHT = 900;

interface AxeOutcome {
  violations: { id: string; nodes: { target: unknown[]; failureSummary?: string }[] }[];
}

/** Fails naming each rule that is broken and where. Scripts of the page stay off; axe comes in by the debugger. */
export async function expectAccessible(page: Page): Promise<void> {
  const outcome = (await page.evaluate(`${axe};axe.run({ resultTypes: ['violations'] })`)) as AxeOutcome;
  const broken = outcome.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${page.url()} ${id} ${target.join(' ')}: ${failureSummary}`),
  );
  expect(broken).toEqual([]);
}

/**
 * Photographs a page narrow and wide, light and dark, and holds each against axe-core.
 * @param name of the pictures, such as `admin-runs`
 */
export async function inspect(page: Page, name: string): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: HEIGHT });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      // In between, the page is made of the same parts as at either end.
      if (width !== TABLET) await expectAccessible(page);
      const suffix = colorScheme === 'dark' ? '-dark' : '';
      await page.screenshot({ path: screenshotPath(`${name}-${width}${suffix}`), fullPage: true });
    }
    const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect([name, width, await page.evaluate(overflow)]).toEqual([name, width, 0]);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** Goes to another part by the bar at the top. */
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
