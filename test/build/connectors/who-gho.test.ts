/** The WHO's Global Health Observatory: rows of both formats, pinned and split dimensions, faulty responses. */
import { expect, it } from 'vitest';
import { whoGho } from '../../../build/connectors/who-gho.ts';
import { stopAfterTests } from '../../after-tests.ts';
import { httpUpstream } from '../fakes/http-upstream.ts';
import { json, startFakeUpstream } from '../fakes/server.ts';
import { ghoRoute } from '../fakes/who-gho.ts';
import { memoryUpstream, readAll } from './read-connector.ts';

type Row = Record<string, string>;

const row = (GHO: string, COUNTRY: string, YEAR: string, Numeric: string, more: Row = {}): Row => ({
  GHO,
  PUBLISHSTATE: 'PUBLISHED',
  YEAR,
  REGION: 'EUR',
  WORLDBANKINCOMEGROUP: '',
  COUNTRY,
  SEX: 'BTSX',
  DATASOURCE: '',
  'Display Value': Numeric,
  Numeric,
  Low: '',
  High: '',
  Comments: '',
  ...more,
});

const LIFE = [
  row('LIFE', 'NOR', '2016', '82.50001', { Low: '81.9', High: '83.1' }),
  row('LIFE', 'NOR', '2016', '80.1', { SEX: 'MLE' }),
  row('LIFE', 'NOR', '2016', '84.2', { SEX: 'FMLE' }),
  row('LIFE', 'SWE', '2015', '', { 'Display Value': 'No data' }),
  row('LIFE', 'SWE', '2014', '', { 'Display Value': 'Yes' }),
  row('LIFE', '', '2016', '77.5'),
  row('LIFE', '', '2016', '72.0', { REGION: '', WORLDBANKINCOMEGROUP: 'WB_LI' }),
  row('LIFE', 'DNK', '2007-2013', '81'),
  row('LIFE', 'FIN', '2016', '81', { PUBLISHSTATE: 'VOID_APPROVED' }),
];
const ONLY_PARTS = [
  row('PARTS', 'NOR', '2016', '1', { SEX: 'MLE' }),
  row('PARTS', 'NOR', '2016', '2', { SEX: 'FMLE' }),
];
const AGES = [
  row('AGES', 'NOR', '2016', '1', { AGEGROUP: 'YEARS0-4' }),
  row('AGES', 'NOR', '2015', '2', { AGEGROUP: '' }),
];
const TABLES = new Map([
  ['LIFE', LIFE],
  ['PARTS', ONLY_PARTS],
  ['AGES', AGES],
]);
const NAMES = new Map([
  ['LIFE', 'Life expectancy at birth (years)'],
  ['PARTS', 'Parts (%)'],
]);

const csvOf = (rows: Row[]): string => {
  const header = [...new Set(rows.flatMap((one) => Object.keys(one)))];
  const line = (cells: string[]): string => cells.map((cell) => `"${cell}"`).join(',');
  return [line(header), ...rows.map((one) => line(header.map((name) => one[name] ?? '')))].join('\n');
};

const service = await stopAfterTests(
  startFakeUpstream([ghoRoute((code) => TABLES.get(code) ?? null, NAMES, 2)]),
);

const exports = memoryUpstream({
  'source/LIFE.csv': csvOf(LIFE),
  'source/PARTS.csv': csvOf(ONLY_PARTS),
  'source/AGES.csv': csvOf(AGES),
  'names.csv': 'concept,description\nLIFE,Life expectancy at birth (years)\nPARTS,Parts (%)\n',
});
const CSV = {
  format: 'csv',
  path: 'source/{code}.csv',
  names: { path: 'names.csv', code: 'concept', name: 'description' },
};
const readService = (settings: object): ReturnType<typeof readAll> =>
  readAll(whoGho, settings, httpUpstream(service.url));
const readExport = (settings: object): ReturnType<typeof readAll> =>
  readAll(whoGho, { ...CSV, ...settings }, exports);

it.each([
  ['the OData service', readService, Number],
  ['the CSV export', readExport, String],
])(
  '%s: reads bounds, gaps, texts, groups, year ranges, withdrawn rows and other parts of the population',
  async (_, read, number) => {
    const { series, failed } = await read({ indicators: ['LIFE'], pin: { SEX: 'BTSX' } });
    expect(failed.size).toBe(0);
    expect(series.get('LIFE')?.entry).toMatchObject({
      name: 'Life expectancy at birth (years)',
      unit: 'years',
    });
    const plain = { ci_lo: null, ci_hi: null };
    expect(series.get('LIFE')?.rows).toEqual([
      { place: 'NOR', year: '2016', value: number('82.50001'), ci_lo: number('81.9'), ci_hi: number('83.1') },
      { ...plain, place: 'NOR', year: '2016', value: number('80.1'), other_dimension: 'SEX=MLE' },
      { ...plain, place: 'NOR', year: '2016', value: number('84.2'), other_dimension: 'SEX=FMLE' },
      { ...plain, place: 'SWE', year: '2015', value: null },
      { ...plain, place: 'SWE', year: '2014', value: 'Yes' },
      { ...plain, place: 'EUR', year: '2016', value: number('77.5'), aggregate: true },
      { ...plain, place: 'WB_LI', year: '2016', value: number('72.0'), aggregate: true },
      { ...plain, place: 'DNK', year: '2007-2013', value: number('81') },
      { ...plain, place: 'FIN', year: '2016', value: number('81'), withdrawn: true },
    ]);
  },
);

it.each([
  ['the OData service', readService],
  ['the CSV export', readExport],
])('%s: a split dimension makes a series per code; the pinned code keeps the bare slug', async (_, read) => {
  const { series } = await read({
    pin: { SEX: 'BTSX' },
    indicators: [
      { code: 'LIFE', split: 'SEX' },
      { code: 'PARTS', split: 'SEX' },
    ],
  });
  expect([...series.keys()].sort()).toEqual(['LIFE', 'LIFE_FMLE', 'LIFE_MLE', 'PARTS_FMLE', 'PARTS_MLE']);
  expect(series.get('LIFE_FMLE')?.entry.name).toBe('Life expectancy at birth (years), female');
  expect(series.get('LIFE_FMLE')?.rows).toHaveLength(1);
  expect(series.get('LIFE')?.rows.every((one) => one.other_dimension === undefined)).toBe(true);
});

it('fails a series whose rows differ by a dimension that is neither pinned nor split', async () => {
  const { series, failed } = await readExport({ indicators: ['AGES', 'LIFE'], pin: { SEX: 'BTSX' } });
  expect(failed.get('AGES')).toBe(
    'rows differ by AGEGROUP (YEARS0-4 and none), which is neither pinned nor split',
  );
  expect([...series.keys()]).toEqual(['LIFE']);
});

it('accepts only rows without a dimension that is pinned to nothing', async () => {
  const indicators = [{ code: 'AGES', pin: { AGEGROUP: [] } }];
  const { series } = await readExport({ indicators, pin: { SEX: 'BTSX' } });
  expect(series.get('AGES')?.rows.map((one) => [one.year, one.other_dimension])).toEqual([
    ['2016', 'AGEGROUP=YEARS0-4'],
    ['2015', undefined],
  ]);
});

it('takes the edition from the newest row date, or from the definition', async () => {
  expect((await readService({ indicators: ['LIFE'], pin: { SEX: 'BTSX' } })).vintage).toBe('2018-07-01');
  const named = await readExport({ indicators: ['LIFE'], pin: { SEX: 'BTSX' }, vintage: '2018-07' });
  expect(named.vintage).toBe('2018-07');
});

const life = (more: object): object => {
  const one = { IndicatorCode: 'LIFE', SpatialDim: 'NOR', NumericValue: 1, TimeDim: 2016 };
  return json({ value: [{ ...one, Dim1Type: 'SEX', Dim1: 'SEX_BTSX' }], ...more });
};

const page = (headers: object, body: string, status = 200) => ({ headers, body, status });
const one = (row: object) => json({ value: [row] });
const elsewhere = life({ '@odata.nextLink': 'https://x.example/api/OTHER?$skip=6' });
const other = one({ IndicatorCode: 'X', SpatialDim: 'NOR', NumericValue: 1 });
const refusal = json({ error: { code: '400', message: 'bad skip' } });
it.each([
  ['a next link that does not advance', life({ '@odata.nextLink': 'LIFE?$skip=4' }), 'does not advance'],
  ['a next link to another list', elsewhere, 'leads to another list'],
  ['a row of another indicator', other, 'a row of X instead of LIFE'],
  ['a row without a place', one({ IndicatorCode: 'LIFE', NumericValue: 1 }), 'without SpatialDim'],
  ['an error object', refusal, 'refused: bad skip'],
  ['a page of HTML', page({ 'content-type': 'text/html' }, '<html></html>'), 'HTML or XML'],
  ['a truncated body', 'shorten', 'not JSON, or cut off'],
  ['HTTP 500 on a later page', page({}, '', 500), 'HTTP 500'],
])('%s fails the series without any of its rows, and no other series', async (_, fault, reason) => {
  const removeFault = service.fail({ on: /LIFE\?\$skip=4/, do: fault as never });
  const { series, failed } = await readService({
    indicators: ['LIFE', { code: 'PARTS', split: 'SEX' }],
    pin: { SEX: 'BTSX' },
  });
  removeFault();
  expect(failed.get('LIFE')).toContain(reason);
  expect([...series.keys()]).toEqual(['PARTS_MLE', 'PARTS_FMLE']);
});

it('fails on a page that repeats the one before', async () => {
  const first = (await (await fetch(`${service.url}LIFE`)).json()) as object;
  const body = JSON.stringify({ ...first, '@odata.nextLink': 'LIFE?$skip=99' });
  const removeFault = service.fail({ on: /LIFE\?\$skip=2/, do: { body } });
  const indicators = ['LIFE', { code: 'PARTS', split: 'SEX' }];
  const { failed } = await readService({ indicators, pin: { SEX: 'BTSX' } });
  removeFault();
  expect(failed.get('LIFE')).toContain('repeats the page before');
});

it('rejects a CSV with another layout', async () => {
  const upstream = memoryUpstream({ 'LIFE.csv': 'a,b\n1,2\n' });
  await expect(readAll(whoGho, { format: 'csv', indicators: ['LIFE'] }, upstream)).rejects.toThrow(
    'not a data-coded export; its columns: a, b',
  );
});
