/** Where a provider is read from, with which connector, under each PROVIDER_MIRROR, and the origin of its files. */
import { expect, it } from 'vitest';
import { originUrl, resolveSource, resolveStarter } from '../../../build/upstream/open-upstream.ts';

const provider = {
  id: 'acme',
  connector: 'acme-api',
  source: { codes: ['A'], page: 1 },
  origin: 'https://acme.example/v2',
  mirror: undefined,
};
const ORIGINAL = { connector: 'acme-api', source: { codes: ['A'], page: 1 } };
const CSV = { connector: 'csv', source: { files: ['a'] } };
const instead = { path: 'acme/csv', ...CSV };
const paged = { connector: 'acme-api', source: { codes: ['A'], page: 2 } };
const resolve = (mirror: unknown, root: string | undefined) =>
  resolveSource({ ...provider, mirror } as never, { PROVIDER_MIRROR: root } as never);

it.each([
  ['no mirror', undefined, undefined, ORIGINAL, 'https://acme.example/v2/'],
  ['a URL', undefined, 'http://m:1', ORIGINAL, 'http://m:1/acme/'],
  ['a URL below a path', 'x/y', 'http://m:1/z/', ORIGINAL, 'http://m:1/z/x/y/'],
  ['a URL ignores the settings for directories', instead, 'http://m:1', ORIGINAL, 'http://m:1/acme/csv/'],
  ['a directory', undefined, '/m', ORIGINAL, '/m/acme'],
  ['a directory at another path', 'x', '/m', ORIGINAL, '/m/x'],
  ['a directory in another layout', instead, '/m', CSV, '/m/acme/csv'],
  ['a directory with other settings for the connector', { source: { page: 2 } }, '/m', paged, '/m/acme'],
])('resolves the source for %s', (_, mirror, root, expected, at) => {
  const base = at.startsWith('/') ? { kind: 'directory', path: at } : { kind: 'url', url: at };
  expect(resolve(mirror, root)).toEqual({ ...expected, base });
});

it.each([
  ['in the shape of upstream', { source: {} }, ORIGINAL, '/data/starter/acme'],
  ['in another layout', instead, CSV, '/data/starter/acme/csv'],
])('resolves starter data %s, whatever the mirror', (_, starter, expected, path) => {
  const resolved = resolveStarter({ ...provider, starter }, '/data');
  expect(resolved).toEqual({ ...expected, base: { kind: 'directory', path } });
});

it('refuses starter data of a provider that has none', () => {
  expect(() => resolveStarter(provider, '/data')).toThrow('the provider "acme" has no starter data');
});

it.each([
  ['no mirror', undefined, undefined, 'a%20b/c.csv?page=2', 'a%20b/c.csv?page=2'],
  ['a URL', undefined, 'http://m:1', 'c.csv', 'c.csv'],
  ['a directory', 'x', '/m', 'c.csv', 'c.csv'],
  ['a directory in another layout', instead, '/m', 'c.csv', ''],
])('names the origin of a file for %s, never the mirror', (_, mirror, root, reference, path) => {
  const url = originUrl(provider, mirror, resolve(mirror, root), reference);
  expect(url).toBe(`https://acme.example/v2/${path}`);
});

it('names the origin itself for a file of the starter data', () => {
  const starter = { source: {} };
  const resolved = resolveStarter({ ...provider, starter }, '/data');
  expect(originUrl(provider, starter, resolved, 'c.csv')).toBe('https://acme.example/v2/');
});
