/** README.md and docs/ agree with the code, in both directions. */
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PREFIXES } from '../../gateway/api/http/api/public-api.ts';
import { OPERATIONS } from '../../gateway/api/operations/operations.ts';
import { PARSER_INPUTS } from '../attack/parser-inputs.ts';
import { block, documentation, documentationText } from './documentation.ts';
import { DOCUMENTATION_TABLES } from './documentation-tables.ts';
import { ROOT, read } from './repository.ts';

const pages = documentation();
const text = documentationText();
const manifest: Record<'scripts' | 'dependencies' | 'devDependencies', Record<string, string>> = JSON.parse(
  read('package.json'),
);

const all = (pattern: RegExp, within = text): string[] => [
  ...new Set([...within.matchAll(pattern)].map(([, word]) => word ?? '')),
];
const sorted = (words: Iterable<string>): string[] => [...words].toSorted();

/** Anchors of a page, as GitHub derives them from its headings. */
const anchors = (page: string): string[] =>
  [...page.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

interface Link {
  page: string;
  /** From the top of the repository. */
  target: string;
  anchor: string | undefined;
}

const links: Link[] = pages.flatMap(({ path, text: page }) =>
  [...page.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(([, to = '', anchor]) => ({
    page: path,
    target: to === '' ? path : normalize(join(dirname(path), to)),
    anchor,
  })),
);

describe('documentation', () => {
  it.each(Object.entries(DOCUMENTATION_TABLES))(
    'lists all %s as the code defines them (write-documentation-tables.ts updates them)',
    (name, markdown) => expect(block(name).content).toBe(markdown()),
  );

  it('lists each route and whether it needs a key, and no other route', () => {
    const rows = all(/^\| (`GET \/v1.* (?:required|optional)) \|$/gm, read('docs/api.md'));
    const listed = rows.map((row) => row.replace(/ \|.*\| /, ' | '));
    expect(sorted(listed)).toEqual(
      sorted(
        OPERATIONS.map(
          ({ path, needsKey }) => `\`GET ${PREFIXES[0]}${path}\` | ${needsKey ? 'required' : 'optional'}`,
        ),
      ),
    );
  });

  it('names every npm script, and only scripts that exist', () => {
    const named = all(/\bnpm (?:run )?([a-z][a-z:-]*)\b/g).filter(
      (word) => !['run', 'packages', 'scripts', 'ci', 'install'].includes(word),
    );
    expect(sorted(named)).toEqual(sorted(Object.keys(manifest.scripts)));
  });

  it('gives a reason for every dependency, and for no other', () => {
    const { dependencies, devDependencies } = manifest;
    const cells = all(/^\| (.+?) \|/gm, block('dependencies').content);
    const listed = cells.flatMap((cell) => all(/`([^`]+)`/g, cell));
    expect(sorted(listed)).toEqual(sorted(Object.keys({ ...dependencies, ...devDependencies })));
  });

  it('names files that exist', () => {
    const named = all(
      /`((?:gateway|build|data|admin|clients|test)\/[\w./-]+\.(?:ts|lua|py|csv|mjs|njk|sql))`/g,
    );
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('links to files that exist', () => {
    expect(links.filter(({ target }) => !existsSync(join(ROOT, target)))).toEqual([]);
  });

  it.each(['publication-faults', 'attack-promises'])('names tests that exist for each row of %s', (name) => {
    const [, , ...rows] = block(name).content.split('\n');
    const missing = rows.flatMap((row) => {
      const named = [...row.matchAll(/\]\(\.\.\/(test\/[^)]+)\): "([^"]+)"/g)];
      const absent = named.filter(([, path = '', title = '']) => !read(path).includes(title));
      return named.length === 0 ? [row] : absent.map(([test]) => test);
    });
    expect(missing).toEqual([]);
  });

  it('has the worst input of every parser, and of nothing else', () => {
    const [, , ...rows] = block('parsers').content.split('\n');
    const listed = rows.map((row) => row.split(' | ').slice(0, 2).join(': ').slice(2));
    const inputs = PARSER_INPUTS.map(({ parser, input }) => `${parser}: ${input}`);
    expect(listed.filter((one) => !inputs.includes(one))).toEqual([]);
    const parsers = new Set(PARSER_INPUTS.map(({ parser }) => parser));
    expect(rows).toHaveLength(parsers.size);
    for (const parser of parsers)
      expect(listed.filter((one) => one.startsWith(`${parser}: `))).toHaveLength(1);
  });

  it('links to headings that exist', () => {
    const broken = links.filter(
      ({ target, anchor }) =>
        anchor !== undefined && target.endsWith('.md') && !anchors(read(target)).includes(anchor),
    );
    expect(broken).toEqual([]);
  });

  it('links every page of docs/ from README.md', () => {
    const linked = new Set(links.filter(({ page }) => page === 'README.md').map(({ target }) => target));
    const lost = pages.filter(({ path }) => path !== 'README.md' && !linked.has(path));
    expect(lost.map(({ path }) => path)).toEqual([]);
  });
});
