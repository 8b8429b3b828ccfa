/** `node test/style/write-documentation-tables.ts` updates the generated tables of README.md and docs/. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { block } from './documentation.ts';
import { DOCUMENTATION_TABLES } from './documentation-tables.ts';
import { ROOT, read } from './repository.ts';

for (const [name, markdown] of Object.entries(DOCUMENTATION_TABLES)) {
  const { path, content } = block(name);
  const wrapped = (table: string): string => `<!-- ${name} -->\n${table}\n<!-- /${name} -->`;
  const text = read(path).replace(wrapped(content), () => wrapped(markdown()));
  writeFileSync(join(ROOT, path), text);
}
