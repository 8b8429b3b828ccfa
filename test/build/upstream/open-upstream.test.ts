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
const instead = { path: 'acme/csv', connector: 'csv', source: { files: ['a'] } };

it.each([
  ['no mirror', provider, undefined, ORIGINAL, { kind: 'url', url: 'https://acme.example/v2/' }],
  ['a URL', provider, 'http://m:1', ORIGINAL, { kind: 'url', url: 'http://m:1/acme/' }],
  [
    'a URL below a path',
    { ...provider, mirror: 'x/y' },
    'http://m:1/z/',
    ORIGINAL,
    { kind: 'url', url: 'http://m:1/z/x/y/' },
  ],
  [
    'a URL ignores the settings for directories',
    { ...provider, mirror: instead },
    'http://m:1',
    ORIGINAL,
    { kind: 'url', url: 'http://m:1/acme/csv/' },
  ],
  ['a directory', provider, '/m', ORIGINAL, { kind: 'directory', path: '/m/acme' }],
  [
    'a directory at another path',
    { ...provider, mirror: 'x' },
    '/m',
    ORIGINAL,
    { kind: 'directory', path: '/m/x' },
  ],
  [
    'a directory in another layout',
    { ...provider, mirror: instead },
    '/m',
    { connector: 'csv', source: { files: ['a'] } },
    { kind: 'directory', path: '/m/acme/csv' },
  ],
  [
    'a directory for the same connector with overriding settings',
    { ...provider, mirror: { source: { page: 2 } } },
    '/m',
    { connector: 'acme-api', source: { codes: ['A'], page: 2 } },
    { kind: 'directory', path: '/m/acme' },
  ],
])('resolves the source for %s', (_, definition, mirror, expected, base) => {
  const settings = { PROVIDER_MIRROR: mirror };
  expect(resolveSource(definition as never, settings as never)).toEqual({ ...expected, base });
});

it.each([
  ['in the shape of upstream', { source: {} }, ORIGINAL, '/data/starter/acme'],
  ['in another layout', instead, { connector: 'csv', source: { files: ['a'] } }, '/data/starter/acme/csv'],
])('resolves starter data %s, whatever the mirror', (_, starter, expected, path) => {
  const resolved = resolveStarter({ ...provider, starter }, '/data');
  expect(resolved).toEqual({ ...expected, base: { kind: 'directory', path } });
});

it('refuses starter data of a provider that has none', () => {
  expect(() => resolveStarter(provider, '/data')).toThrow('the provider "acme" has no starter data');
});

it.each([
  ['no mirror', provider, undefined, 'a%20b/c.csv?page=2', 'https://acme.example/v2/a%20b/c.csv?page=2'],
  ['a URL', provider, 'http://m:1', 'c.csv', 'https://acme.example/v2/c.csv'],
  ['a directory', { ...provider, mirror: 'x' }, '/m', 'c.csv', 'https://acme.example/v2/c.csv'],
  [
    'a directory in another layout',
    { ...provider, mirror: instead },
    '/m',
    'c.csv',
    'https://acme.example/v2/',
  ],
])('names the origin of a file for %s, never the mirror', (_, definition, mirror, reference, url) => {
  const resolved = resolveSource(definition as never, { PROVIDER_MIRROR: mirror } as never);
  expect(originUrl(definition, definition.mirror, resolved, reference)).toBe(url);
});

it('names the origin itself for a file of the starter data', () => {
  const starter = { source: {} };
  const resolved = resolveStarter({ ...provider, starter }, '/data');
  expect(originUrl(provider, starter, resolved, 'c.csv')).toBe('https://acme.example/v2/');
});
