/** Links of the clients' packages work on registries: absolute, and to pages that the service has. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { useService } from '../gateway/service.ts';

const CLIENTS = join(import.meta.dirname, '../../clients');
/** Stands for the service until the release command writes its address. */
const PLACEHOLDER = 'https://almanac.example';
const FOREIGN = /^https:\/\/(?:keepachangelog\.com|semver\.org)\//;

const service = await useService();

it.each([
  'python/README.md',
  'python/CHANGELOG.md',
  'python/pyproject.toml',
  'typescript/README.md',
  'typescript/CHANGELOG.md',
  'typescript/package.json',
  'r/README.md',
])('%s', async (name) => {
  const text = await readFile(join(CLIENTS, name), 'utf8');
  const inMarkdown = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
  const others = [...text.matchAll(/"(https:[^"]+)"/g)].map(([, link = '']) => link);
  const links = [...inMarkdown, ...others].filter((link) => !FOREIGN.test(link));
  if (!name.includes('CHANGELOG')) expect(links).not.toEqual([]);
  for (const link of links) {
    expect(link.startsWith(PLACEHOLDER), link).toBe(true);
    expect([link, (await service.get(link.slice(PLACEHOLDER.length) || '/')).status]).toEqual([link, 200]);
  }
});
