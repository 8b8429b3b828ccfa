/** Writes the README's generated tables anew: `node test/style/write-readme-tables.ts`, after a change of what they show. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { README_TABLES } from './readme-tables.ts';

const README = join(import.meta.dirname, '../../README.md');

let text = readFileSync(README, 'utf8');
for (const [name, markdown] of Object.entries(README_TABLES)) {
  const block = new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(\n<!-- /${name} -->)`);
  if (!block.test(text)) throw new Error(`README.md has no block ${name}`);
  text = text.replace(block, (_whole, start: string, end: string) => start + markdown() + end);
}
writeFileSync(README, text);
