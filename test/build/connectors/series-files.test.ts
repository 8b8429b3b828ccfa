/**
 * The upstream files that each series comes from, as every connector names them: lists written by hand, and each digit of
 * each file changed in turn.
 */
import { expect, it } from 'vitest';
import { CONNECTORS, findConnector } from '../../../build/connectors/registry.ts';
import type { Upstream } from '../../../build/upstream/upstream.ts';
import { zipOf } from '../fakes/zip.ts';
import { type ReadProvider, readAll } from './read-connector.ts';

/** The text of a file by reference, or of the table in a zip. */
type Files = Record<string, string | { table: string }>;

interface Sample {
  connector: string;
  /** What the sample shows. */
  about: string;
  settings: object;
  files: Files;
  /** References by slug. */
  expected: Record<string, string[]>;
}

function upstreamOf(files: Files): Upstream {
  const find = (reference: string): Uint8Array => {
    const file = files[reference];
    if (file === undefined) throw new Error(`404 ${reference}`);
    if (typeof file === 'string') return new TextEncoder().encode(file);
    return zipOf([{ name: 'API_A.X_DS2_en_csv_v2_1.csv', body: file.table }]);
  };
  return {
    stream: async (reference) =>
      (async function* () {
        yield find(reference);
      })(),
    text: async (reference) => new TextDecoder().decode(find(reference)),
  };
}

const json = (value: unknown): string => JSON.stringify(value);
const points = (path: string, name: string) => ({
  path,
  schema: { fields: ['geo', 'time', name].map((one) => ({ name: one })), primaryKey: ['geo', 'time'] },
});
const odataRow = (sex: string, year: number, value: number) => ({
  IndicatorCode: 'LIFE',
  SpatialDimType: 'COUNTRY',
  SpatialDim: 'NOR',
  TimeDim: year,
  Dim1Type: 'SEX',
  Dim1: `SEX_${sex}`,
  NumericValue: value,
  Value: String(value),
  Low: null,
  High: null,
});
const bankRow = (year: string, value: number) => ({
  indicator: { id: 'A.X' },
  country: { id: 'NO' },
  countryiso3code: 'NOR',
  date: year,
  value,
});
const bankPage = (page: number) =>
  `country/all/indicator/A.X?format=json&source=2&per_page=20000&page=${page}`;
const wide = (...rows: string[]): string =>
  ['Country Name,Country Code,Indicator Name,Indicator Code,2020', ...rows].join('\n');

const SAMPLES: Sample[] = [
  {
    connector: 'ddf',
    about: 'a series in two files, and a table of last actual years',
    settings: { notes: { path: 'last actual.csv' } },
    files: {
      'datapackage.json': json({
        resources: [
          { path: 'concepts.csv', schema: { fields: [], primaryKey: 'concept' } },
          ...[points('one.csv', 'one'), points('two.csv', 'two'), points('two more.csv', 'two')],
        ],
      }),
      'concepts.csv': 'concept,concept_type,name\none,measure,One of 2\ntwo,measure,Two\n',
      'one.csv': 'geo,time,one\nnor,2020,1.5\nnor,2021,2.5\n',
      'two.csv': 'geo,time,two\nnor,2020,3\n',
      'two%20more.csv': 'geo,time,two\nswe,2020,4\n',
      'last%20actual.csv': 'geo,concept,estimates_start_after\nnor,one,2020\nnor,two,2019\n',
    },
    expected: {
      one: ['last%20actual.csv', 'one.csv'],
      two: ['last%20actual.csv', 'two%20more.csv', 'two.csv'],
    },
  },
  {
    connector: 'frictionless',
    about: 'a table in two files with the package that says how cells are read, and a table alone',
    settings: { place: ['Code'], packages: ['pack', 'alone.csv'] },
    files: {
      'pack/datapackage.json': json({
        name: 'pack',
        title: 'Edition 7',
        resources: [
          {
            path: ['a.csv', 'b.csv'],
            schema: {
              fields: ['Code', 'Year', 'x', 'y'].map((name) => ({
                name,
                ...(name === 'Year' && { type: 'year' }),
              })),
              missingValues: ['-9'],
            },
          },
        ],
      }),
      'pack/a.csv': 'Code,Year,x,y\nNOR,2020,1,-9\nNOR,2021,-9,5\n',
      'pack/b.csv': 'SWE,2020,3,4\n',
      'alone.csv': 'Code,Year,Value\nNOR,2020,8\n',
    },
    expected: {
      'pack-x': ['pack/a.csv', 'pack/b.csv', 'pack/datapackage.json'],
      'pack-y': ['pack/a.csv', 'pack/b.csv', 'pack/datapackage.json'],
      alone: ['alone.csv'],
    },
  },
  {
    connector: 'owid-grapher',
    about: 'charts, without their metadata',
    settings: { charts: ['one', 'two'], csv: '{chart}.csv?v=1', metadata: '{chart}.json' },
    files: {
      'one.csv?v=1': 'Entity,Code,Year,X,Y\nNorway,NOR,2020,1,2\n',
      'one.json': json({ chart: { title: 'One 1' }, columns: { X: { titleShort: 'X 2' } } }),
      'two.csv?v=1': 'Entity,Code,Year,Z\nNorway,NOR,2020,3\n',
      'two.json': json({ chart: { title: 'Two 2' }, columns: {} }),
    },
    expected: { 'one-x': ['one.csv?v=1'], 'one-y': ['one.csv?v=1'], two: ['two.csv?v=1'] },
  },
  {
    connector: 'sdmx-csv',
    about: 'messages that overlap, one of them with another part of the population alone',
    settings: { files: ['a?f=1', 'b', 'women'], pin: { SEX: '_T' } },
    files: {
      'a?f=1': 'REF_AREA,INDICATOR,SEX,TIME_PERIOD,OBS_VALUE\nNOR,X,_T,2020,1\nNOR,Y,_T,2020,2\n',
      b: 'REF_AREA,INDICATOR,SEX,TIME_PERIOD,OBS_VALUE\nSWE,X,_T,2020,3\n',
      women: 'REF_AREA,INDICATOR,SEX,TIME_PERIOD,OBS_VALUE\nNOR,X,F,2020,4\n',
    },
    expected: { X: ['a?f=1', 'b'], Y: ['a?f=1'] },
  },
  {
    connector: 'who-gho',
    about: 'exports, without the list of names',
    settings: {
      format: 'csv',
      indicators: ['LIFE', 'MORT'],
      names: { path: 'names.csv', code: 'code', name: 'name' },
    },
    files: {
      'LIFE.csv': 'GHO,YEAR,COUNTRY,Display Value,Numeric,Low,High\nLIFE,2016,NOR,82,82.1,81,83\n',
      'MORT.csv': 'GHO,YEAR,COUNTRY,Display Value,Numeric,Low,High\nMORT,2016,NOR,2,2.1,1,3\n',
      'names.csv': 'code,name\nLIFE,Life at 0\n',
    },
    expected: { LIFE: ['LIFE.csv'], MORT: ['MORT.csv'] },
  },
  {
    connector: 'who-gho',
    about: 'pages of the service, some without rows of a split series',
    settings: { indicators: [{ code: 'LIFE', split: 'SEX' }] },
    files: {
      Indicator: json({ value: [{ IndicatorCode: 'LIFE', IndicatorName: 'Life at 0' }] }),
      LIFE: json({ value: [odataRow('MLE', 2016, 80.5)], '@odata.nextLink': 'LIFE?$skip=more' }),
      'LIFE?$skip=more': json({ value: [odataRow('FMLE', 2016, 84.5), odataRow('MLE', 2015, 79.5)] }),
    },
    expected: { LIFE_MLE: ['LIFE', 'LIFE?$skip=more'], LIFE_FMLE: ['LIFE?$skip=more'] },
  },
  {
    connector: 'world-bank-api',
    about: 'pages of rows, without the description',
    settings: { indicators: ['A.X'], series_metadata: false },
    files: {
      'indicator/A.X?format=json': json([
        { page: 1, pages: 1, total: 1 },
        [{ name: 'A 1', sourceNote: 'Since 1960' }],
      ]),
      [bankPage(1)]: json([{ page: 1, pages: 2, total: 3 }, [bankRow('2020', 1.5), bankRow('2021', 2.5)]]),
      [bankPage(2)]: json([{ page: 2, pages: 2, total: 3 }, [bankRow('2022', 3.5)]]),
    },
    expected: { 'A.X': [bankPage(1), bankPage(2)] },
  },
  {
    connector: 'world-bank-csv',
    about: 'the edition that is taken, without the list of files',
    settings: { files: ['new.zip'], index: 'older.txt' },
    files: {
      'new.zip': { table: wide('Norway,NOR,X,A.X,1') },
      'older.txt': '# 1 file\nold set.csv\n',
      'old%20set.csv': wide('Norway,NOR,X,A.X,9', 'Norway,NOR,Y,B.Y,2'),
    },
    expected: { 'A.X': ['new.zip'], 'B.Y': ['old%20set.csv'] },
  },
  {
    connector: 'combined',
    about: 'parts in folders of their own, without the catalogue table',
    settings: {
      parts: [
        {
          path: 'long set',
          connector: 'frictionless',
          source: { place: ['Code'], packages: ['tables/one.csv'] },
        },
        { connector: 'world-bank-csv', source: { files: ['new.csv'] } },
      ],
      catalogue: { path: 'Series.csv', key: 'Code', description: 'Text' },
    },
    files: {
      'long%20set/tables/one.csv': 'Code,Year,Value\nNOR,2020,1\n',
      'new.csv': wide('Norway,NOR,X,A.X,1'),
      'Series.csv': 'Code,Text\none,Since 1960\n',
    },
    expected: { one: ['long%20set/tables/one.csv'], 'A.X': ['new.csv'] },
  },
];

const read = ({ connector, settings }: Sample, files: Files) =>
  readAll(findConnector(connector), settings, upstreamOf(files));

/** Each version of a text with one other digit. */
function* withOtherDigits(text: string): Generator<string> {
  for (const { index, 0: digit } of text.matchAll(/\d/g)) {
    yield text.slice(0, index) + ((Number(digit) + 1) % 10) + text.slice(index + 1);
  }
}

/** The rows of a series that ingestion would keep, as text; none for a series that cannot be read. */
function keptRows({ series, failed }: ReadProvider, slug: string): string {
  const rows = failed.has(slug) ? [] : (series.get(slug)?.rows ?? []);
  return json(rows.filter(({ other_dimension: other }) => other === undefined));
}

const NOTHING: ReadProvider = {
  series: new Map(),
  failed: new Map(),
  files: new Map(),
  vintage: null,
  plan: null,
};

/** The series whose rows differ, those that cannot be read included. */
async function changedSeries(sample: Sample, before: ReadProvider, files: Files): Promise<string[]> {
  const after = await read(sample, files).catch(() => NOTHING);
  return [...before.series.keys()].filter((slug) => keptRows(before, slug) !== keptRows(after, slug));
}

it('every connector has a sample', () => {
  expect(new Set(SAMPLES.map(({ connector }) => connector))).toEqual(new Set(CONNECTORS.keys()));
});

it.each(SAMPLES)('$connector names $about', async (sample) => {
  const { files, failed } = await read(sample, sample.files);
  expect(failed.size).toBe(0);
  const named = [...files].map(([slug, references]) => [slug, [...references].sort()]);
  expect(Object.fromEntries(named)).toEqual(sample.expected);
});

it.each(SAMPLES)(
  '$connector: a digit of a file changes only series that name it, and of each such series some do ($about)',
  async (sample) => {
    const before = await read(sample, sample.files);
    const decided: Record<string, Set<string>> = {};
    for (const [reference, file] of Object.entries(sample.files)) {
      const isText = typeof file === 'string';
      for (const text of withOtherDigits(isText ? file : file.table)) {
        const files = { ...sample.files, [reference]: isText ? text : { table: text } };
        for (const slug of await changedSeries(sample, before, files)) {
          decided[slug] ??= new Set();
          decided[slug].add(reference);
        }
      }
    }
    const found = Object.entries(decided).map(([slug, references]) => [slug, [...references].sort()]);
    expect(Object.fromEntries(found)).toEqual(sample.expected);
  },
);
