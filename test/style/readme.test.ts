/** The README and the code say the same: what one names, the other has, both ways. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PREFIXES, ROUTES } from '../../gateway/operations/registry.ts';
import { README_TABLES } from './readme-tables.ts';
import { ROOT, read } from './repository.ts';

const readme = read('README.md');
const manifest: Record<'scripts' | 'dependencies' | 'devDependencies', Record<string, string>> = JSON.parse(
  read('package.json'),
);

/** What stands between `<!-- name -->` and `<!-- /name -->`. */
function block(name: string): string {
  const found = new RegExp(`<!-- ${name} -->\n([\\s\\S]*?)\n<!-- /${name} -->`).exec(readme)?.[1];
  if (found === undefined) throw new Error(`README.md has no block ${name}`);
  return found;
}

const all = (pattern: RegExp, text = readme): string[] => [
  ...new Set([...text.matchAll(pattern)].map(([, word]) => word ?? '')),
];
const sorted = (words: Iterable<string>): string[] => [...words].toSorted();

describe('README.md', () => {
  it.each(Object.entries(README_TABLES))(
    'shows all %s as the code has them, and no other (write-readme-tables.ts writes them)',
    (name, markdown) => expect(block(name)).toBe(markdown()),
  );

  it('has a worked example under a heading for each route, and for nothing else', () => {
    const headings = all(/^### GET (\/v1\S*)/gm);
    expect(sorted(headings)).toEqual(sorted(ROUTES.map(({ template }) => PREFIXES[0] + template)));
    for (const part of readme.split(/^### GET /m).slice(1))
      expect(part.split(/^#{1,3} /m)[0]).toMatch(/```sh\ncurl [\s\S]*?```\n+```/);
  });

  it('names every script, and only scripts that exist', () => {
    const named = all(/\bnpm (?:run )?([a-z][a-z:-]*)\b/g).filter(
      (word) => !['run', 'packages', 'scripts'].includes(word),
    );
    expect(sorted(named)).toEqual(sorted(Object.keys(manifest.scripts)));
  });

  it('gives a reason for every dependency, and for no other', () => {
    const { dependencies, devDependencies } = manifest;
    const listed = all(/^\| (.+?) \|/gm, block('dependencies')).flatMap((cell) => all(/`([^`]+)`/g, cell));
    expect(sorted(listed)).toEqual(sorted(Object.keys({ ...dependencies, ...devDependencies })));
  });

  it('links to files that exist', () => {
    const broken = all(/\]\((?!https?:|#)([^)#]+)/g).filter((path) => !existsSync(join(ROOT, path)));
    expect(broken).toEqual([]);
  });

  it('links to headings that exist', () => {
    const slug = (heading: string): string =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-');
    const headings = all(/^#{1,4} (.+)$/gm).map(slug);
    expect(all(/\]\(#([^)]+)\)/g).filter((anchor) => !headings.includes(anchor))).toEqual([]);
  });
});
