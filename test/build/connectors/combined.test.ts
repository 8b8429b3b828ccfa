/** Providers combined from several sources: precedence of parts, and the catalogue table. */
import { expect, it } from 'vitest';
import { createCombinedConnector } from '../../../build/connectors/combined.ts';
import { findConnector } from '../../../build/connectors/registry.ts';
import { memoryUpstream, readAll } from './read-connector.ts';

const combined = createCombinedConnector(findConnector);

const describe = (name: string, version?: string): string =>
  JSON.stringify({
    name,
    title: `${name} (modeled ILO estimate) (% of GDP) (national estimate)`,
    version,
    licenses: [{ name: 'CC-BY-4.0' }],
    resources: [
      {
        name: 'data',
        path: 'data.csv',
        schema: {
          fields: [
            { name: 'Code', type: 'string' },
            { name: 'Year', type: 'year' },
            { name: 'Value', type: 'number' },
          ],
        },
      },
    ],
  });

const download = (code: string, value: string): string =>
  `Country Name,Country Code,Indicator Name,Indicator Code,2020\nNorway,NOR,${code},${code},${value}\n`;

const FILES = {
  'long set/a.one/datapackage.json': describe('a.one'),
  'long set/a.one/data.csv': 'Code,Year,Value\nNOR,2020,1\n',
  'long set/a.two/datapackage.json': 'broken',
  'new.csv': download('A.ONE', '99'),
  'two.csv': download('A.TWO', '99'),
  'three.csv': download('A.THREE', '3'),
  'Series.csv':
    'Series Code,Topic,Long definition,License Type,Method\nA.ONE,Health: Risk,What it is,Their terms,Sum\n',
};
const SETTINGS = {
  parts: [
    {
      path: 'long set',
      connector: 'frictionless',
      slug_case: 'upper',
      unit_from_name: true,
      source: { place: ['Code'], each: { path: '{name}', names: ['a.one', 'a.two'] } },
    },
    { connector: 'world-bank-csv', source: { files: ['new.csv', 'two.csv', 'three.csv'] } },
  ],
  catalogue: {
    path: 'Series.csv',
    key: 'Series Code',
    tags: 'Topic',
    description: 'Long definition',
    licence: 'License Type',
    aggregation: 'Method',
  },
};

it('takes each series from the first part that has it, even a failed one', async () => {
  const { series, failed, plan } = await readAll(combined, SETTINGS, memoryUpstream(FILES));
  expect([...series.keys()]).toEqual(['A.ONE', 'A.THREE']);
  expect(series.get('A.ONE')?.rows).toEqual([{ place: 'NOR', year: '2020', value: '1' }]);
  expect([...failed.keys()]).toEqual(['A.TWO']);
  expect(plan).toBe(2);
});

it('fills gaps in entries from the catalogue table, whose licences win', async () => {
  const { series } = await readAll(combined, SETTINGS, memoryUpstream(FILES));
  expect(series.get('A.ONE')?.entry).toMatchObject({
    description: 'What it is',
    unit: '% of GDP',
    tags: ['Health', 'Risk', 'Health: Risk'],
    licence: 'Their terms',
    aggregation: 'Sum',
  });
  expect(series.get('A.THREE')?.entry.licence).toBeNull();
});

it('takes the edition from the definition or the first part', async () => {
  expect((await readAll(combined, SETTINGS, memoryUpstream(FILES))).vintage).toBeNull();
  const named = { ...SETTINGS, vintage: '2026' };
  expect((await readAll(combined, named, memoryUpstream(FILES))).vintage).toBe('2026');
});

it('rejects an unknown connector and invalid settings of a part', async () => {
  const upstream = memoryUpstream({});
  await expect(readAll(combined, { parts: [{ connector: 'gopher' }] }, upstream)).rejects.toThrow(
    'no connector "gopher"; there are: ',
  );
  const wrong = { parts: [{ connector: 'who-gho', source: { indicators: [] } }] };
  await expect(readAll(combined, wrong, upstream)).rejects.toThrow('indicators');
});
