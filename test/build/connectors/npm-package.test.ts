/** Figures in npm packages: JSON, CSV and ES modules. */
import { describe, expect, it } from 'vitest';
import { npmPackage } from '../../../build/connectors/npm-package.ts';
import { DirectoryUpstream } from '../../../build/upstream/directory-upstream.ts';
import { memoryUpstream, readAll } from './read-connector.ts';

const FILES = {
  '@scope/figures/package.json': '{"name": "@scope/figures", "version": "1.2.3"}',
  '@scope/figures/rows.json':
    '{"all": [{"at": {"place": "France"}, "when": 1955, "n": 1.5}, {"at": {"place": "Chad"}, "when": "1955"}]}',
  '@scope/figures/rows.csv': 'place,when,n\nFrance,1955,1.5\n',
  '@scope/figures/map.js': 'const data = { FRA: "414", TCD: 0 };\nexport { data };\n',
};
const value = { name: 'N', unit: 'kg' };

describe('an npm package with figures', () => {
  it('reads JSON by dotted paths', async () => {
    const settings = {
      package: '@scope/figures',
      tables: [{ file: 'rows.json', format: 'json', rows: 'all', year: 'when' }],
      place: 'at.place',
      values: { n: { column: 'n', ...value }, m: { column: 'm', ...value } },
    };
    const { series, vintage, plan } = await readAll(npmPackage, settings, memoryUpstream(FILES));
    expect([vintage, plan]).toEqual(['@scope/figures 1.2.3', 2]);
    expect(series.get('n')?.rows).toEqual([
      { place: 'France', year: 1955, value: 1.5 },
      { place: 'Chad', year: '1955', value: null },
    ]);
    expect(series.get('n')?.entry).toMatchObject({ slug: 'n', name: 'N', unit: 'kg', description: null });
  });

  it('reads CSV', async () => {
    const settings = {
      package: '@scope/figures',
      tables: [{ file: 'rows.csv', format: 'csv', year: 'when' }],
      place: 'place',
      values: { n: { column: 'n', ...value } },
    };
    const { series } = await readAll(npmPackage, settings, memoryUpstream(FILES));
    expect(series.get('n')?.rows).toEqual([{ place: 'France', year: '1955', value: '1.5' }]);
  });

  it('reads a module that exports a map from place to figure', async () => {
    const settings = {
      package: '@scope/figures',
      tables: [{ file: 'map.js', format: 'module', rows: 'data', year: { fixed: 2021 } }],
      shape: 'map',
      values: { n: value },
    };
    const { series } = await readAll(npmPackage, settings, memoryUpstream(FILES));
    expect(series.get('n')?.rows).toEqual([
      { place: 'FRA', year: 2021, value: '414' },
      { place: 'TCD', year: 2021, value: 0 },
    ]);
  });

  it('reports a package that is not installed', async () => {
    const settings = {
      package: '@scope/figures',
      tables: [{ file: 'rows.json', format: 'json', year: 'when' }],
      values: { n: value },
    };
    const { signal } = new AbortController();
    const nothing = new DirectoryUpstream(import.meta.dirname, { maxFileBytes: 1_000, signal });
    await expect(readAll(npmPackage, settings, nothing)).rejects.toThrow(
      /^the npm package @scope\/figures is not installed: npm install --include=dev/,
    );
  });

  it('reports content that contradicts the definition', async () => {
    const settings = {
      package: '@scope/figures',
      tables: [{ file: 'rows.json', format: 'json', rows: 'none', year: 'when' }],
      values: { n: value },
    };
    await expect(readAll(npmPackage, settings, memoryUpstream(FILES))).rejects.toThrow(
      'holds no rows at "none"',
    );
    expect(npmPackage.settings.safeParse({ ...settings, package: '../../etc' }).success).toBe(false);
  });
});
