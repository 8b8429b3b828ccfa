/** Where a provider is read from, with which connector, under each PROVIDER_MIRROR, and the origin of its files. */
import { expect, it } from 'vitest';
import { originUrl, resolveSource } from '../../../build/upstream/open-upstream.ts';

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
  ['data inside an npm package', { ...provider, origin: undefined }, '/m', ORIGINAL, { kind: 'none' }],
])('resolves the source for %s', (_, definition, mirror, expected, base) => {
  const { origin, mirror: own, ...rest } = definition;
  const given = { ...rest, ...(origin ? { origin } : {}), ...(own ? { mirror: own } : {}) };
  const settings = { PROVIDER_MIRROR: mirror };
  expect(resolveSource(given as never, settings as never)).toEqual({ ...expected, base });
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
  [
    'data inside an npm package',
    { ...provider, origin: undefined },
    '/m',
    'figures/dist/a%20b.json',
    'pkg:npm/figures@1.2.3#dist/a%20b.json',
  ],
  [
    'data inside a scoped npm package',
    { ...provider, origin: undefined },
    undefined,
    '%40acme/figures/a.csv',
    'pkg:npm/%40acme/figures@1.2.3#a.csv',
  ],
])('names the origin of a file for %s, never the mirror', async (_, definition, mirror, reference, url) => {
  const { origin, mirror: own, ...rest } = definition;
  const given = { ...rest, ...(origin ? { origin } : {}), ...(own ? { mirror: own } : {}) };
  const resolved = resolveSource(given as never, { PROVIDER_MIRROR: mirror } as never);
  expect(await originUrl(given as never, resolved, reference, async () => '1.2.3')).toBe(url);
});
