/** The stylesheet of all pages. The browser tests rely on this when they check only colour rules in dark mode. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const STYLES = join(import.meta.dirname, '../../../../gateway/web/styles');

test('dark mode redefines colour variables and nothing else', async () => {
  const names = (await readdir(STYLES)).sort();
  const css = (await Promise.all(names.map((name) => readFile(join(STYLES, name), 'utf8')))).join('\n');
  const blocks = css.split('prefers-color-scheme').slice(1);
  expect(blocks).toHaveLength(1);
  expect(blocks[0]).toMatch(/^: dark\) \{\n {2}:root \{\n(?: {4}--[a-z-]+: #[0-9a-f]{6};\n)+ {2}\}\n\}\n/);
});
