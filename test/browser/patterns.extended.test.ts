/** The pages of patterns: they show every component and macro, are accessible and fit every width in both schemes. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  PATTERN_PATHS,
  type PatternPages,
  startPatternPages,
} from '../gateway/pages/patterns/pattern-pages.ts';
import { type Browser, openBrowser } from './browser.ts';
import { inspect } from './page-checks.ts';

const ROOT = join(import.meta.dirname, '../..');
const MACROS = ['shared/views/parts.njk', 'site/views/data-parts.njk', 'site/views/profile-parts.njk'];
const PATTERNS = ['patterns-site.njk', 'patterns-area.njk'];

/** Run in the page: classes that rules of the stylesheet name, and whether an element of the page has them. */
const CLASSES = `(() => {
  const found = {};
  const visit = (rules) => {
    for (const rule of rules) {
      if (rule.cssRules) visit(rule.cssRules);
      for (const [, name] of (rule.selectorText ?? '').matchAll(/\\.([a-z][\\w-]*)/g))
        found[name] ||= document.querySelector('.' + name) !== null;
    }
  };
  for (const sheet of document.styleSheets) visit(sheet.cssRules);
  return found;
})()`;

let pages: PatternPages;
let browser: Browser;
beforeAll(async () => {
  pages = await startPatternPages();
  browser = await openBrowser();
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await pages.stop();
});

it.each(PATTERN_PATHS)('%s is accessible, fits its window and breaks no rule of the policy', async (path) => {
  const page = await browser.context.newPage();
  const refused: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !/404/.test(message.text())) refused.push(message.text());
  });
  const answer = await page.goto(pages.url + path);
  expect(answer?.status()).toBe(200);
  await inspect(page, path.slice(1).replaceAll('/', '-'));
  expect(refused).toEqual([]);
  await page.close();
});

it('shows every class that the stylesheet has a rule for', async () => {
  const shown = new Map<string, boolean>();
  const page = await browser.context.newPage();
  for (const path of PATTERN_PATHS) {
    await page.goto(pages.url + path);
    const found = Object.entries(await page.evaluate<Record<string, boolean>>(CLASSES));
    for (const [name, isShown] of found) shown.set(name, isShown || shown.get(name) === true);
  }
  await page.close();
  expect(shown.size).toBeGreaterThan(100);
  expect([...shown].flatMap(([name, isShown]) => (isShown ? [] : [name]))).toEqual([]);
});

it('shows every macro that pages share', async () => {
  const read = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8');
  const patterns = (
    await Promise.all(PATTERNS.map((name) => read(`test/gateway/pages/patterns/${name}`)))
  ).join('\n');
  for (const file of MACROS) {
    const text = await read(`gateway/pages/${file}`);
    const names = [...text.matchAll(/\{% macro (\w+)\(/g)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(0);
    // Some are used by others of their file.
    const isUsed = (name: string): boolean =>
      new RegExp(`\\b${name}\\(`).test(patterns) || text.split(`${name}(`).length > 2;
    expect([file, names.filter((name) => !isUsed(name))]).toEqual([file, []]);
  }
});
