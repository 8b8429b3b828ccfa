/** The catalogue as a DuckDB database, opened by DuckDB. */
import { hash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, describe, expect, test } from 'vitest';
import type { IndicatorRecord } from '../../data/schema/records.ts';
import { useDirectory } from '../after-tests.ts';
import { INDICATORS } from './fixture-data.ts';
import { FIXTURE_ID, publishFixture } from './fixture-snapshot.ts';
import { codeOf, PUBLIC_URL, Service, useService } from './service.ts';

const PATH = '/v1/almanac.duckdb';
const AS_OF = `as_of=${FIXTURE_ID}`;
/** Of a series that the snapshot before had, and that is gone. */
const GONE = 'alpha.withdrawn_series';
/** Of Gamma only what may not be exported. */
const SHOWN = INDICATORS.filter(({ id }) => id !== 'gamma.zero');

const folder = await useDirectory();
const snapshots = join(folder, 'snapshots');
const terms = { access_tier: 'display', licence: 'none', licence_url: null, attribution: 'none' } as const;
await publishFixture(snapshots, { indicators: SHOWN, vanished: [{ id: GONE, ...terms }] });
const service = await useService({ snapshots, settings: { PUBLIC_URL: `${PUBLIC_URL}/it's/` } });
const { bytes } = await service.get(PATH);
const file = join(folder, 'almanac.duckdb');
await writeFile(file, bytes);
const instance = await DuckDBInstance.create();
afterAll(() => instance.closeSync());
const connection = await instance.connect();
afterAll(() => connection.closeSync());
await connection.run(`ATTACH '${file}' AS almanac (READ_ONLY)`);

const rowsOf = async (sql: string) => (await connection.runAndReadAll(sql)).getRowObjectsJson();

describe('its tables', () => {
  test('name the snapshot', async () => {
    expect(await rowsOf('FROM almanac.edition')).toEqual([
      { id: FIXTURE_ID, published_at: '2026-11-20 02:00:00', url: `${PUBLIC_URL}/it's` },
    ]);
  });

  test('have every indicator with its facts, its rows and its file', async () => {
    const listed: IndicatorRecord[] = (await service.get('/v1/indicators')).json.data;
    const rows = await rowsOf('FROM almanac.indicators');
    expect(rows.map(({ id }) => id)).toEqual(listed.map(({ id }) => id).toSorted());
    for (const row of rows) {
      const { provider, coverage, ...record } = listed.find(({ id }) => id === row.id) as IndicatorRecord;
      const url =
        record.access_tier === 'open' ? `${PUBLIC_URL}/it's/v1/files/${record.id}.parquet?${AS_OF}` : null;
      const none = { n_countries: null, yr_min: null, yr_max: null, latest_year: null };
      const n_rows = INDICATORS.find(({ id }) => id === record.id)?.rows.length;
      expect(row).toEqual({ ...record, provider: provider.id, ...(coverage ?? none), n_rows, url });
    }
  });

  test('have the other lists as the API answers them', async () => {
    for (const [table, path] of Object.entries({
      topics: '/v1/topics',
      countries: '/v1/countries',
      groups: '/v1/groups',
    }))
      expect(await rowsOf(`FROM almanac.${table}`)).toEqual((await service.get(path)).json.data);
  });

  test('have a file only for providers of which something may be exported', async () => {
    const rows = await rowsOf('SELECT id, licence, n_indicators, url FROM almanac.providers');
    const bundle = (id: string) => `${PUBLIC_URL}/it's/v1/bundles/${id}.parquet?${AS_OF}`;
    expect(rows.map(({ id, url }) => [id, url])).toEqual([
      ['alpha', bundle('alpha')],
      ['beta', bundle('beta')],
      ['gamma', null],
    ]);
    expect(rows[2]).toMatchObject({ licence: 'Gamma terms', n_indicators: 1 });
  });
});

test('has macros over the files of its snapshot', async () => {
  const macros = await rowsOf(
    "SELECT function_name, macro_definition FROM duckdb_functions() WHERE database_name = 'almanac' ORDER BY 1",
  );
  const definition = (folder: string) =>
    expect.stringContaining(`'${PUBLIC_URL}/it''s/v1/${folder}/' || id) || '.parquet?${AS_OF}'`);
  expect(macros).toEqual([
    { function_name: 'bundle', macro_definition: definition('bundles') },
    { function_name: 'observations', macro_definition: definition('files') },
  ]);
});

test('holds nothing of what is not listed', () => {
  expect(bytes.includes('alpha.population_total')).toBe(true);
  expect(bytes.includes(GONE)).toBe(false);
});

describe('as an answer', () => {
  test('has the tag of its bytes, and is not compressed', async () => {
    const headers = { 'accept-encoding': 'br, gzip' };
    const answer = await service.get(PATH, { headers });
    expect(answer.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment; filename="almanac.duckdb"',
      'content-length': String(bytes.length),
      'accept-ranges': 'bytes',
      etag: `"${hash('sha256', bytes)}"`,
      'x-snapshot': FIXTURE_ID,
    });
    expect(answer.headers).not.toHaveProperty('content-encoding');
    expect(answer.bytes.equals(bytes)).toBe(true);
    const tag = String(answer.headers.etag);
    expect((await service.get(PATH, { headers: { 'if-none-match': tag } })).status).toBe(304);
  });

  test.each(['without a key', 'with a key'])('%s comes in parts and as its head alone, free', async (how) => {
    const owner = await service.account({ credits: 0 });
    const key = how === 'with a key' ? { key: owner.key } : {};
    for (let time = 0; time < 3; time += 1) {
      const part = await service.get(PATH, { ...key, headers: { range: 'bytes=8-11' } });
      expect([part.status, part.headers['content-range']]).toEqual([206, `bytes 8-11/${bytes.length}`]);
      expect(part.text).toBe('DUCK');
      const head = await service.get(PATH, { ...key, method: 'HEAD' });
      expect([head.status, head.headers['content-length']]).toEqual([200, String(bytes.length)]);
      expect((await service.get(PATH, key)).bytes.equals(bytes)).toBe(true);
    }
    const beyond = await service.get(PATH, { ...key, headers: { range: `bytes=${bytes.length}-` } });
    expect([beyond.status, codeOf(beyond)]).toEqual([416, 'range_not_satisfiable']);
    // DuckDB looks for the log of a database that is written to.
    expect((await service.get(`${PATH}.wal`, { ...key, method: 'HEAD' })).status).toBe(404);
  });

  test('is equal from every process', async () => {
    const settings = { PUBLIC_URL: `${PUBLIC_URL}/it's` };
    await using other = await Service.start({ snapshots: service.directory, settings });
    expect((await other.get(PATH)).bytes.equals(bytes)).toBe(true);
  });

  test('without PUBLIC_URL, reads from this machine', async () => {
    const settings = { PUBLIC_URL: '', PORT: '8123' };
    await using local = await Service.start({ snapshots: service.directory, settings });
    const file = join(folder, 'local.duckdb');
    await writeFile(file, (await local.get(PATH)).bytes);
    await connection.run(`ATTACH '${file}' AS local (READ_ONLY)`);
    expect(await rowsOf('SELECT url FROM local.edition')).toEqual([{ url: 'http://localhost:8123' }]);
  });
});
