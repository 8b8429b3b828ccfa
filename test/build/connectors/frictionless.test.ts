/** Frictionless packages: defaults, every setting, unreadable packages, slug conflicts. */
import { describe, expect, it } from 'vitest';
import { frictionless } from '../../../build/connectors/frictionless.ts';
import { memoryUpstream, readAll } from './read-connector.ts';

interface PackageOptions {
  fields: (string | object)[];
  more?: object;
  resource?: object;
}

/** A `datapackage.json` with one table. */
const describePackage = ({ fields, more = {}, resource = {} }: PackageOptions): string =>
  JSON.stringify({
    name: 'pack',
    title: 'The package',
    resources: [
      {
        path: 'data.csv',
        schema: {
          fields: fields.map((field) => (typeof field === 'string' ? { name: field, type: 'any' } : field)),
        },
        ...resource,
      },
    ],
    ...more,
  });

/** Reads packages from files in memory. */
const read = (files: Record<string, string | Uint8Array>, settings: object = {}) =>
  readAll(frictionless, settings, memoryUpstream(files));

describe('a long table with one series', () => {
  const fields = [
    { name: 'Country Name', type: 'string' },
    { name: 'Country Code', type: 'string' },
    { name: 'Year', type: 'year' },
    { name: 'Value', type: 'number', description: 'What <i>it</i> measures' },
  ];

  it('needs no settings', async () => {
    const { series, vintage, failed } = await read({
      'datapackage.json': describePackage({
        fields,
        more: {
          name: 'ag.con.fert.zs',
          title: 'Fertilizer (kg per (arable) hectare)',
          version: '2024.1',
          keywords: ['Agriculture ', 'Land'],
          licenses: [{ name: 'CC-BY-4.0' }],
          sources: [{ title: 'FAO', path: 'https://fao.org' }],
        },
      }),
      'data.csv':
        'Country Name,Country Code,Year,Value\nAruba,ABW,2002,14.5\nWorld,WLD,2003,\n"Kosovo, x",,2003,1\n',
    });
    expect(failed.size).toBe(0);
    expect(vintage).toBe('2024.1');
    expect([...series.values()]).toEqual([
      {
        entry: {
          slug: 'ag.con.fert.zs',
          name: 'Fertilizer (kg per (arable) hectare)',
          description: 'What it measures',
          unit: null,
          source: 'FAO',
          source_url: 'https://fao.org',
          tags: ['Agriculture', 'Land'],
          licence: 'CC-BY-4.0',
        },
        rows: [
          { place: 'ABW', year: '2002', value: '14.5' },
          { place: 'WLD', year: '2003', value: null },
          { place: 'Kosovo, x', year: '2003', value: '1' },
        ],
      },
    ]);
  });

  it('reads one package per name, announces their number, and takes units from names', async () => {
    const one = (name: string) => ({
      [`in/${name}/datapackage.json`]: describePackage({
        fields,
        more: { name, title: `${name} (% of (all) people)` },
      }),
      [`in/${name}/data.csv`]: `Country Name,Country Code,Year,Value\nAruba,ABW,2002,1\n`,
    });
    const { series, plan } = await read(
      { ...one('a'), ...one('b') },
      { each: { path: 'in/{name}', names: ['a', 'b'] }, unit_from_name: true },
    );
    expect(plan).toBe(2);
    expect([...series.values()].map(({ entry }) => [entry.slug, entry.unit])).toEqual([
      ['a', '% of (all) people'],
      ['b', '% of (all) people'],
    ]);
  });
});

describe('a wide table', () => {
  const header = 'Entity,Year,first value,t,t_lower,t_upper,note';
  const rows = `${header}\nFrance,1900,1,-.5,-.7,-.3,x\nUSSR,1950,,n/a,,,\n`;
  const fields = [
    { name: 'Entity', type: 'string' },
    { name: 'Year', type: 'year' },
    { name: 'first value', type: 'any', own: '{"unit": "%", "name": "First"}', description: '' },
    { name: 't', type: 'any' },
    { name: 't_lower' },
    { name: 't_upper', type: 'number' },
    { name: 'note', type: 'string' },
  ];

  it('reads each column that is not text as a series, with bounds and missing values', async () => {
    const { series } = await read({
      'datapackage.json': describePackage({
        fields,
        more: { description: 'All of it' },
        resource: { schema: { fields, missingValues: ['', 'n/a'] } },
      }),
      'data.csv': rows,
    });
    expect([...series.keys()]).toEqual(['pack-first-value', 'pack-t']);
    expect(series.get('pack-first-value')).toMatchObject({
      entry: { name: 'first value', description: 'All of it', unit: null },
      rows: [
        { place: 'France', year: '1900', value: '1' },
        { place: 'USSR', year: '1950', value: null, blank: true },
      ],
    });
    expect(series.get('pack-t')?.rows).toEqual([
      { place: 'France', year: '1900', value: '-.5', ci_lo: '-.7', ci_hi: '-.3' },
      { place: 'USSR', year: '1950', value: null, ci_lo: null, ci_hi: null, blank: true },
    ]);
  });

  it('applies the definition: columns, slugs, properties, strip, status, flags, empty cells', async () => {
    const { series } = await read(
      {
        'dir ü/x, y!/datapackage.json': describePackage({ fields, more: { topics: ['a', 'a'] } }),
        'dir ü/x, y!/real.csv': rows,
      },
      {
        place: ['Entity'],
        year: 'Year',
        tags: ['topics'],
        field: { unit: 'own.unit', name: 'own.name' },
        missing: ['n/a'],
        empty: 'absent',
        status: 'note',
        packages: [
          {
            path: 'dir ü/x, y!',
            file: 'real.csv',
            slug: 'mine',
            tags: ['own'],
            values: ['first value', 't'],
            strip: '^first ',
            columns: { t: { slug: 't', name: 'T', unit: 'u', description: 'd', ci_lo: 't_upper' } },
          },
        ],
      },
    );
    expect([...series.values()]).toEqual([
      {
        entry: expect.objectContaining({ slug: 'mine-value', name: 'First', unit: '%', tags: ['own', 'a'] }),
        rows: [{ place: 'France', year: '1900', value: '1', status: 'x' }],
      },
      {
        entry: expect.objectContaining({ slug: 't', name: 'T', unit: 'u', description: 'd' }),
        rows: [{ place: 'France', year: '1900', value: '-.5', ci_lo: '-.3', status: 'x' }],
      },
    ]);
  });

  it('reads a column that flags forecasts', async () => {
    const { series } = await read(
      {
        'datapackage.json': describePackage({ fields: ['geo', 'time', 'v', 'is_projection'] }),
        'data.csv': 'geo,time,v,is_projection\nFRA,2020,1,0\nFRA,2021,2,1\nFRA,2022,3,\nFRA,2023,4,TRUE\n',
      },
      { projected: 'is_projection' },
    );
    expect(series.get('pack')?.rows.map((row) => row.projected)).toEqual([false, true, false, true]);
  });
});

describe('a long table of several series', () => {
  const fields = ['area', 'year', 'item', 'item_label', 'unit', 'sex', 'value', 'value_lower'];
  const files = {
    'datapackage.json': describePackage({ fields, more: { keywords: ['k'], sources: [{ title: 'S' }] } }),
    'data.csv':
      'area,year,item,item_label,unit,sex,value,value_lower\n' +
      'FRA,2000,A/1,Item <b>one</b>,kg,all,1,0\nFRA,2000,b,,%,all,2,\nFRA,2001,A/1,Item one,kg,all,,\n' +
      'FRA,2001,b,,%,women,3,\nFRA,2001,,nothing,kg,all,9,\n',
  };

  it('reads the series that its rows name, with names and units', async () => {
    const settings = { series: { code: 'item', name: 'item_label', unit: 'unit' }, pin: { sex: 'all' } };
    const { series } = await read(files, settings);
    expect([...series.values()]).toEqual([
      {
        entry: expect.objectContaining({
          slug: 'a-1',
          name: 'Item one',
          unit: 'kg',
          tags: ['k'],
          source: 'S',
        }),
        rows: [
          { place: 'FRA', year: '2000', value: '1', ci_lo: '0' },
          { place: 'FRA', year: '2001', value: null, ci_lo: null },
        ],
      },
      {
        entry: expect.objectContaining({ slug: 'b', name: 'b', unit: '%' }),
        rows: [
          { place: 'FRA', year: '2000', value: '2', ci_lo: null },
          { place: 'FRA', year: '2001', value: '3', ci_lo: null, other_dimension: 'sex=women' },
        ],
      },
    ]);
  });

  it('requires one value column, and fails when truncated', async () => {
    const settings = { series: { code: 'item' }, pin: { sex: ['all', 'women'] } };
    await expect(read(files, { ...settings, packages: ['.'] })).rejects.toThrow(
      'one column of figures is wanted',
    );
    const broken = { ...files, 'data.csv': `${files['data.csv']}FRA` };
    await expect(read(broken, { ...settings, values: ['value'] })).rejects.toThrow('Invalid Record Length');
  });
});

describe('CSV dialects', () => {
  it('reads dialect, encoding and number format from the package', async () => {
    const fields = ['code', 'year', { name: 'v', type: 'number', decimalChar: ',', groupChar: '.' }];
    const dialect = { delimiter: ';', quoteChar: "'", header: false, commentChar: '#' };
    const resource = { encoding: 'iso-8859-1', dialect };
    const { series } = await read({
      'datapackage.json': describePackage({ fields, resource }),
      'data.csv': Buffer.from("Côte;2000;'1.234,5'\n# note\n", 'latin1'),
    });
    expect(series.get('pack')?.rows).toEqual([{ place: 'Côte', year: '2000', value: '1234.5' }]);
  });

  it('reads a resource with several files, and selects the named resource', async () => {
    const fields = [{ name: 'code' }, { name: 'year' }, { name: 'v' }];
    const resources = [
      { name: 'text', path: 'readme.md', format: 'md' },
      { name: 'old', path: 'old.csv', schema: { fields } },
      { name: 'new', path: ['n1.csv', 'n2.csv'], format: 'csv', schema: { fields } },
    ];
    const files = {
      'datapackage.json': JSON.stringify({ name: 'pack', resources }),
      'old.csv': 'code,year,v\nA,1,1\n',
      'n1.csv': 'code,year,v\nB,2,2\n',
      'n2.csv': 'C,3,3\n',
    };
    expect((await read(files)).series.get('pack')?.rows).toMatchObject([{ place: 'A' }]);
    expect((await read(files, { resource: 'new' })).series.get('pack')?.rows).toMatchObject([
      { place: 'B' },
      { place: 'C' },
    ]);
  });
});

describe('an unreadable package', () => {
  const csv = 'code,year,v\nA,1,1\n';
  const columns = (names: string) => ({ fields: names.split(' ') });
  const { fields } = columns('code year v');
  const text = { name: 'v', type: 'string' };
  const good = { 'g/datapackage.json': describePackage({ fields, more: { name: 'g' } }), 'g/data.csv': csv };
  const bad = (options: Partial<PackageOptions>, data = csv) => ({
    'b/datapackage.json': describePackage({ fields, ...options, more: { name: 'b', ...options.more } }),
    'b/data.csv': data,
  });

  it.each([
    ['missing', {}, '404'],
    ['not JSON', { 'b/datapackage.json': '<html>' }, 'a page of HTML or XML instead of JSON'],
    ['without resources', { 'b/datapackage.json': '{"resources": []}' }, 'resources'],
    ['without a table', bad({ fields: [], resource: { path: 'x.xlsx' } }), 'no CSV resource'],
    ['with a path outside', bad({ resource: { path: '../g/data.csv' } }), 'not below its package'],
    ['with another host', bad({ resource: { path: 'https://x.test/d.csv' } }), 'not below its package'],
    ['without a place', bad(columns('x year v')), 'no place column found; say which of: x, year, v'],
    ['without a year', bad(columns('code x v')), 'no year column found; say which of: code, x, v'],
    ['without a value', bad({ fields: ['code', 'year', text] }), 'no value column found'],
    ['without a column', bad(columns('code year v w')), 'no column "w"; there are: code, year, v'],
    ['truncated', bad({}, 'code,year,v\nA,1,1\nB'), 'Invalid Record Length'],
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
    ['an invalid pattern', { year_pattern: '(' }],
    ['names without a placeholder', { each: { path: 'x', names: ['a'] } }],
  ])('reject %s', (_name, settings) => {
    expect(frictionless.settings.safeParse(settings).success).toBe(false);
  });
});
