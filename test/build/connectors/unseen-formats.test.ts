/**
 * Formats of real providers that have no definition here: each is read with a minimal definition, or rejected with a
 * message that names what is missing.
 */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Connector } from '../../../build/connectors/connector.ts';
import { ddf } from '../../../build/connectors/ddf.ts';
import { frictionless } from '../../../build/connectors/frictionless.ts';
import { owidGrapher } from '../../../build/connectors/owid-grapher.ts';
import { whoGho } from '../../../build/connectors/who-gho.ts';
import { worldBankApi } from '../../../build/connectors/world-bank-api.ts';
import { httpUpstream } from '../fakes/http-upstream.ts';
import { json, type Route, startFakeUpstream } from '../fakes/server.ts';
import { zipOf } from '../fakes/zip.ts';
import { memoryUpstream, readAll } from './read-connector.ts';

type Files = Record<string, string | Uint8Array>;

/** Each series as `place year value, …` by slug. */
async function readShort<Settings>(connector: Connector<Settings>, source: object, files: Files) {
  const { series, failed } = await readAll(connector, source, memoryUpstream(files));
  expect([...failed]).toEqual([]);
  const entries = [...series].map(([slug, { rows }]) => [
    slug,
    rows.map(({ place, year, value }) => `${place} ${year} ${value}`).join(', '),
  ]);
  return Object.fromEntries(entries);
}

/** A package with one table. */
const pack = (resource: object, table: string | Uint8Array, more: object = {}): Files => ({
  'datapackage.json': JSON.stringify({
    name: 'set',
    resources: [{ path: 'data.csv', ...resource }],
    ...more,
  }),
  'data.csv': table,
});
const fields = (...names: string[]) => ({ fields: names.map((name) => ({ name })) });

describe('Frictionless packages', () => {
  it('reads encoding, preamble and decimal comma that the definition states', async () => {
    const table = Buffer.from('Quelle: Amt\nland;jahr;wert\nC\xf4te d\x92Ivoire;2020;1,5\n', 'latin1');
    const source = {
      packages: ['werte.csv'],
      encoding: 'windows-1252',
      skip_lines: 1,
      decimal_comma: true,
      place: ['land'],
      year: 'jahr',
    };
    expect(await readShort(frictionless, source, { 'werte.csv': table })).toEqual({
      werte: 'Côte d’Ivoire 2020 1.5',
    });
  });

  it.each([
    ['gzip', (text: string) => gzipSync(text)],
    [
      'a zip with a notes file',
      (text: string) =>
        zipOf([
          { name: 'Metadata_set.csv', body: 'note\n' },
          { name: 'table.csv', body: text },
        ]),
    ],
    ['a byte order mark', (text: string) => `\uFEFF${text}`],
    ['UTF-16', (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le')],
  ])('reads %s', async (how, write) => {
    const schema = fields('iso3', 'year', 'value');
    const files = pack(
      { schema, ...(how === 'UTF-16' ? { encoding: 'utf-16le' } : {}) },
      write('iso3,year,value\nFRA,2020,1\n'),
    );
    expect(await readShort(frictionless, {}, files)).toEqual({ set: 'FRA 2020 1' });
  });

  it('infers text columns without a schema or a package', async () => {
    const table = 'Country Code,Region,Year,GDP,Note\nFRA,Europe,2020,2.6,\nDEU,Europe,2020,3.8,x\n';
    const expected = 'FRA 2020 2.6, DEU 2020 3.8';
    expect(await readShort(frictionless, {}, pack({}, table))).toEqual({ set: expected });
    const source = { packages: [{ path: 'sub/gdp.csv.gz', slug: 'gdp' }] };
    const files = { 'sub/gdp.csv.gz': gzipSync(table) };
    expect(await readShort(frictionless, source, files)).toEqual({ gdp: expected });
  });

  it('reads a column per year: plain, DataBank headers, or several series', async () => {
    const plain = pack(
      { schema: fields('Country', 'Code', '2019', '2020') },
      'Country,Code,2019,2020\nFrance,FRA,1,2\n',
    );
    expect(await readShort(frictionless, {}, plain)).toEqual({ set: 'FRA 2019 1, FRA 2020 2' });
    const bank = 'Country Code,Series Code,2019 [YR2019],2020 [YR2020]\nFRA,A.B,1,..\nDEU,C.D,3,4\n';
    const source = { packages: ['bank.csv'], series: { code: 'Series Code' }, missing: ['..'] };
    expect(await readShort(frictionless, source, { 'bank.csv': bank })).toEqual({
      'A.B': 'FRA 2019 1, FRA 2020 null',
      'C.D': 'DEU 2019 3, DEU 2020 4',
    });
    const hdr = 'iso3,country,hdi_1990,hdi_1991,le_1990,le_1991\nFRA,France,0.79,0.8,76.9,77\n';
    const wide = { packages: ['hdr.csv'], year_columns: '^(?<series>[a-z]+)_(?<year>\\d{4})$' };
    expect(await readShort(frictionless, wide, { 'hdr.csv': hdr })).toEqual({
      hdi: 'FRA 1990 0.79, FRA 1991 0.8',
      le: 'FRA 1990 76.9, FRA 1991 77',
    });
  });

  it('extracts years from dates by the definition', async () => {
    const files = pack({ schema: fields('iso3', 'date', 'value') }, 'iso3,date,value\nFRA,2020-01-01,1\n');
    const source = { year_pattern: '^(\\d{4})-01-01$' };
    expect(await readShort(frictionless, source, files)).toEqual({ set: 'FRA 2020 1' });
  });

  const table = 'iso3,year,v\nFRA,1,1\n';
  const years = 'iso3,1990\nFRA,1\n';
  const damaged = gzipSync(table).subarray(0, 20);
  const two = zipOf(['a.csv', 'b.csv'].map((name) => ({ name, body: name })));
  const listed = 'expected one table in the archive, found: a.csv, b.csv';
  it.each<[string, string | Uint8Array, object, string]>([
    [
      'without matching year columns',
      years,
      { year_columns: '^y(?<year>\\d{4})$' },
      'year_columns fits no column',
    ],
    ['with an unknown encoding', table, { encoding: 'klingon' }, 'unknown encoding "klingon"'],
    ['with damaged gzip', damaged, {}, 'damaged gzip'],
    ['with several tables in a zip', two, {}, listed],
  ])('rejects a table %s', async (_, file, more, reason) => {
    const files = { 'x.csv': file };
    const reading = readAll(frictionless, { packages: ['x.csv'], ...more }, memoryUpstream(files));
    await expect(reading).rejects.toThrow(reason);
  });
});

it('reads DDF with files by country and by geo, and a byte order mark', async () => {
  const resource = (path: string, primaryKey: string[], value: string) => ({
    path,
    schema: { fields: [...primaryKey, value].map((name) => ({ name })), primaryKey },
  });
  const files = {
    'datapackage.json': `\uFEFF${JSON.stringify({
      resources: [
        { path: 'concepts.csv', schema: { fields: [{ name: 'concept' }], primaryKey: 'concept' } },
        resource('a.csv', ['country', 'time'], 'pop'),
        resource('b.csv', ['geo', 'time'], 'gdp'),
        resource('c.csv', ['world_4region', 'time'], 'pop'),
      ],
    })}`,
    'concepts.csv': 'concept,concept_type,name\npop,measure,Population\ngdp,measure,Output\n',
    'a.csv': 'country,time,pop\nfra,2020,67\n',
    'b.csv': 'geo,time,gdp\nfra,2020,2.6\n',
    'c.csv': 'world_4region,time,pop\neurope,2020,747\n',
  };
  expect(await readShort(ddf, { geo: ['country', 'geo'] }, files)).toEqual({
    pop: 'fra 2020 67',
    gdp: 'fra 2020 2.6',
  });
});

it('reads a grapher chart by day with other place columns', async () => {
  const files = {
    'c.metadata.json': JSON.stringify({ chart: { title: 'C' }, columns: {} }),
    'c.csv': 'Country,ISO,Day,Value\nFrance,FRA,2020-01-01,1\n',
  };
  const source = { charts: ['c'], place: ['ISO', 'Country'], year: 'Day', year_pattern: '^(\\d{4})-01-01$' };
  expect(await readShort(owidGrapher, source, files)).toEqual({ c: 'FRA 2020 1' });
});

describe('services', () => {
  async function readService<Settings>(route: Route, connector: Connector<Settings>, source: object) {
    await using server = await startFakeUpstream([route]);
    return {
      ...(await readAll(connector, source, httpUpstream(server.url))),
      requests: [...server.requests],
    };
  }

  it('read OData with a filter and without a list of indicators', async () => {
    const row = { IndicatorCode: 'X', SpatialDimType: 'COUNTRY', SpatialDim: 'FRA', TimeDim: 2020 };
    const route: Route = ({ pathname }) =>
      pathname === '/X'
        ? json({ value: [{ ...row, NumericValue: 1, Low: 0.5, High: 2, Value: '1' }] })
        : null;
    const source = {
      path: '{code}?$filter=TimeDim ge 2000&tag={code}',
      indicators: [{ code: 'X', name: 'Ex' }],
    };
    const { series, requests } = await readService(route, whoGho, source);
    expect(requests).toContain('/X?$filter=TimeDim%20ge%202000&tag=X');
    expect(series.get('X')).toMatchObject({
      entry: { name: 'Ex' },
      rows: [{ place: 'FRA', year: '2020', value: 1, ci_lo: 0.5, ci_hi: 2 }],
    });
  });

  const bank: Route = ({ pathname }) => {
    const paging = { page: 1, pages: 1, per_page: 50, total: 1, sourceid: '2', lastupdated: '2026-07-01' };
    const indicator = { id: 'SP.POP.TOTL', value: 'Population, total' };
    if (pathname === '/indicator/SP.POP.TOTL')
      return json([paging, [{ id: indicator.id, name: indicator.value }]]);
    if (!pathname.startsWith('/country/all/')) return null;
    const row = { indicator, country: { id: 'FR' }, countryiso3code: 'FRA', date: '2020', value: 67_000_000 };
    return json([paging, [row]]);
  };

  it('read the World Bank protocol without the metadata route, with an unknown licence', async () => {
    const { series } = await readService(bank, worldBankApi, { indicators: ['SP.POP.TOTL'] });
    expect(series.get('SP.POP.TOTL')).toMatchObject({
      entry: { name: 'Population, total', licence: null },
      rows: [{ place: 'FRA', year: '2020', value: 67_000_000 }],
    });
  });
});
