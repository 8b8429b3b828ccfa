/** Nothing that the stylesheet or the macros of pages have is missing on the pages of patterns. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PATTERN_PATHS, renderPattern } from './pattern-pages.ts';

const PAGES = join(import.meta.dirname, '../../../../gateway');
const STYLES = ['web/styles', 'site/styles'];
const SCRIPTS = ['site/island.js', 'site/crosshair.js', 'site/time.js'];
const MACROS = ['web/views/parts.njk', 'site/views/data-parts.njk', 'site/views/profile-parts.njk'];
const PATTERNS = ['patterns-site.njk', 'patterns-area.njk'];

const read = (path: string): Promise<string> => readFile(join(PAGES, path), 'utf8');

/** Classes of all selectors. */
async function styledClasses(): Promise<Set<string>> {
  const found = new Set<string>();
  for (const folder of STYLES)
    for (const name of await readdir(join(PAGES, folder))) {
      const css = (await read(`${folder}/${name}`)).replaceAll(/\/\*.*?\*\//gs, '');
      for (const [, selector = ''] of css.matchAll(/([^{}]+)\{/g))
        for (const [, className = ''] of selector.matchAll(/\.([a-z][\w-]*)/g)) found.add(className);
    }
  return found;
}

test('the pages of patterns show every class that the stylesheet has a rule for', async () => {
  const styled = await styledClasses();
  expect(styled.size).toBeGreaterThan(100);
  const shown = new Set(
    PATTERN_PATHS.flatMap((path) =>
      [...renderPattern(path).matchAll(/ class="([^"]*)"/g)].flatMap(([, names = '']) => names.split(/\s+/)),
    ),
  );
  for (const script of SCRIPTS)
    for (const [, names = ''] of (await read(script)).matchAll(
      /(?:className = (?:\w+ \? )?|add\(\w+, )'([\w -]+)'/g,
    ))
      for (const name of names.split(' ')) shown.add(name);
  expect([...styled].filter((name) => !shown.has(name))).toEqual([]);
});

test('the pages of patterns show every macro that pages share', async () => {
  const patterns = await Promise.all(
    PATTERNS.map((name) => readFile(join(import.meta.dirname, name), 'utf8')),
  );
  for (const file of MACROS) {
    const text = await read(file);
    const names = [...text.matchAll(/\{% macro (\w+)\(/g)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(0);
    // Some are used by others of their file.
    const isUsed = (name: string): boolean =>
      patterns.some((each) => new RegExp(`\\b${name}\\(`).test(each)) || text.split(`${name}(`).length > 2;
    expect([file, names.filter((name) => !isUsed(name))]).toEqual([file, []]);
  }
});
