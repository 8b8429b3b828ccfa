/** Data packages that cannot be read, names that clash, settings that mean nothing: each is told by what is wrong. */
import { describe, expect, it } from 'vitest';
import { frictionless } from '../../../build/connectors/frictionless.ts';
import { describePackage, type PackageOptions, readPackages as read } from './packages.ts';

describe('an unreadable package', () => {
  const csv = 'code,year,v\nA,1,1\n';
  const good = {
    'g/datapackage.json': describePackage({ fields: ['code', 'year', 'v'], more: { name: 'g' } }),
    'g/data.csv': csv,
  };
  const bad = (options: PackageOptions, data = csv) => ({
    'b/datapackage.json': describePackage({ ...options, more: { name: 'b', ...options.more } }),
    'b/data.csv': data,
  });

  it.each([
    ['missing', {}, '404'],
    ['not JSON', { 'b/datapackage.json': '<html>' }, 'not JSON'],
    ['without resources', { 'b/datapackage.json': '{"resources": []}' }, 'resources'],
    ['without a table', bad({ fields: [], resource: { path: 'x.xlsx' } }), 'no CSV resource'],
    [
      'with a path outside its directory',
      bad({ fields: ['code', 'year', 'v'], resource: { path: '../g/data.csv' } }),
      'not below its package',
    ],
    [
      'with a path on another host',
      bad({ fields: ['code', 'year', 'v'], resource: { path: 'https://x.test/d.csv' } }),
      'not below its package',
    ],
    [
      'without a place column',
      bad({ fields: ['x', 'year', 'v'] }),
      'no place column found; say which of: x, year, v',
    ],
    [
      'without a year column',
      bad({ fields: ['code', 'x', 'v'] }),
      'no year column found; say which of: code, x, v',
    ],
    [
      'without a value column',
      bad({ fields: ['code', 'year', { name: 'v', type: 'string' }] }),
      'no value column found',
    ],
    [
      'without a column of its schema',
      bad({ fields: ['code', 'year', 'v', 'w'] }),
      'no column "w"; there are: code, year, v',
    ],
    ['truncated', bad({ fields: ['code', 'year', 'v'] }, 'code,year,v\nA,1,1\nB'), 'Invalid Record Length'],
  ])('%s fails alone', async (_name, files, reason) => {
    const { series, failed } = await read({ ...good, ...files }, { packages: ['b', 'g'] });
    expect([...failed.values()].join()).toContain(reason);
    expect(series.get('g')?.rows).toEqual([{ place: 'A', year: '1', value: '1' }]);
  });

  it('fails the provider when it is the only one', async () => {
    await expect(read({})).rejects.toThrow('404');
  });
});

describe('slugs', () => {
  const rows = 'code,year,Total (%),Total\nFRA,2000,1,2\n';
  const fields = ['code', 'year', 'Total (%)', 'Total'];
  const one = { 'a/datapackage.json': describePackage({ fields, more: { name: 'a' } }), 'a/data.csv': rows };
  const two = {
    'b/datapackage.json': describePackage({ fields: fields.slice(0, 3), more: { name: 'b' } }),
    'b/data.csv': rows,
  };

  it('are unique within a package', async () => {
    const { failed, series } = await read({ ...one, ...two }, { packages: ['a', 'b'] });
    expect([...failed]).toEqual([
      ['a-total', 'two series would be called "a-total": give one a slug of its own'],
    ]);
    expect([...series.keys()]).toContain('b');
    const columns = { Total: { slug: 'a-number' } };
    const apart = await read(one, { packages: [{ path: 'a', columns }] });
    expect([...apart.series.keys()]).toEqual(['a-total', 'a-number']);
  });

  it('are unique over all packages', async () => {
    const packages = [
      { path: 'b', slug: 'same' },
      { path: 'b', slug: 'same' },
    ];
    await expect(read(two, { packages })).rejects.toThrow('two series would be called "same"');
  });
});

describe('settings', () => {
  it.each([
    ['an unknown setting', { pakages: [] }],
    ['an invalid pattern', { roles: { ci_lo: ['('] } }],
    ['names without a placeholder', { each: { path: 'x', names: ['a'] } }],
  ])('reject %s', (_name, settings) => {
    expect(frictionless.settings.safeParse(settings).success).toBe(false);
  });
});
