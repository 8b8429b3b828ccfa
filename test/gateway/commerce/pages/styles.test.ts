/** The stylesheet of all pages. The browser tests rely on this when they check only colour rules in dark mode. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const GATEWAY = join(import.meta.dirname, '../../../../gateway');

test('dark mode changes colours and nothing else', async () => {
  const folders = ['web/styles', 'site/styles'].map((folder) => join(GATEWAY, folder));
  const files = await Promise.all(
    folders.map(async (folder) => (await readdir(folder)).map((name) => join(folder, name))),
  );
  const css = (await Promise.all(files.flat().map((file) => readFile(file, 'utf8')))).join('\n');
  expect(css).not.toContain('prefers-color-scheme');
  const colours = css.match(/^ {2}(?:--[a-z-]+|color): light-dark\(#[0-9a-f]{6}, #[0-9a-f]{6}\);$/gm);
  expect(css.match(/light-dark/g)).toHaveLength(colours?.length ?? 0);
});
