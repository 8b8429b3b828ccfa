/** Formats of files: what they refuse, and what they say of licence and edition. */
import { tableFromIPC } from 'apache-arrow';
import { parse } from 'csv-parse/sync';
import { parquetMetadata } from 'hyparquet';
import { describe, expect, test } from 'vitest';
import { useService } from '../../service.ts';

const service = await useService();
const owner = await service.account({ credits: 1_000_000 });

const get = (path: string) => service.get(`/v1/${path}`, { key: owner.key });

describe('SDMX-CSV', () => {
  test('dimensions, measure and attributes, with licence and edition in every row', async () => {
    const answer = await get(
      'data?indicators=alpha.population_total,alpha.life_expectancy&countries=USA&from=2021&format=sdmx-csv',
    );
    expect(answer.headers['content-type']).toBe('application/vnd.sdmx.data+csv; version=2.0.0');
    expect(answer.headers['content-disposition']).toBe('attachment; filename="almanac-data.csv"');
    const records: Record<string, string>[] = parse(answer.text, { columns: true });
    const target = { STRUCTURE: 'dataflow', STRUCTURE_ID: 'ALMANAC:OBSERVATIONS(1.0.0)', ACTION: 'I' };
    const credit = {
      LICENCE: 'CC BY 4.0',
      LICENCE_URL: 'https://creativecommons.org/licenses/by/4.0/',
      ATTRIBUTION: 'Alpha Institute, CC BY 4.0',
      EDITION: answer.headers['x-snapshot'],
    };
    expect(records.map((record) => [record.INDICATOR, record.OBS_VALUE, record.UNIT_MEASURE])).toEqual([
      ['alpha.population_total', '332', expect.any(String)],
      ['alpha.life_expectancy', '79', 'years'],
    ]);
    for (const record of records)
      expect(record).toMatchObject({ ...target, ...credit, REF_AREA: 'USA', TIME_PERIOD: '2021', CI_LO: '' });
  });

  test.each(['layout=wide', 'fields=iso3,value'])('needs its dimensions: %s is 422', async (shape) => {
    const answer = await get(`data?indicator=alpha.life_expectancy&${shape}&format=sdmx-csv`);
    expect(answer.status).toBe(422);
    expect(answer.headers['x-credits-charged']).toBe('0');
    expect(answer.json.detail[0]).toMatchObject({ loc: ['query', 'format'], input: 'sdmx-csv' });
  });
});

test('Arrow: licence, units and edition in the schema, several licences joined', async () => {
  const answer = await get('data?indicators=alpha.life_expectancy,beta.co2_emissions&format=arrow');
  expect(answer.headers['content-type']).toBe('application/vnd.apache.arrow.stream');
  expect(answer.headers['content-disposition']).toBe('attachment; filename="almanac-data.arrows"');
  const { schema, numRows } = tableFromIPC(answer.bytes);
  expect(schema.fields.map(({ name }) => name)).toEqual([
    ...['indicator', 'iso3', 'year', 'value', 'ci_lo', 'ci_hi', 'rank', 'projected'],
  ]);
  expect(Number(answer.headers['x-credits-charged'])).toBe(numRows);
  const { metadata } = schema;
  expect(metadata.get('edition')).toBe(answer.headers['x-snapshot']);
  expect(metadata.get('attribution')).toBe('Alpha Institute, CC BY 4.0; Büro “Beta” — 100 % público, 東京');
  const credits: Record<string, string>[] = JSON.parse(metadata.get('indicators') ?? '');
  expect(credits.map(({ id }) => id)).toEqual(['alpha.life_expectancy', 'beta.co2_emissions']);
  expect(credits[0]).toMatchObject({ unit: 'years', licence: 'CC BY 4.0' });
});

test('Parquet: licence, units and edition in the metadata; not compressed again', async () => {
  const answer = await service.get('/v1/data?indicator=alpha.life_expectancy&format=parquet', {
    key: owner.key,
    headers: { 'accept-encoding': 'gzip' },
  });
  expect(answer.headers['content-type']).toBe('application/vnd.apache.parquet');
  expect(answer.headers['content-encoding']).toBeUndefined();
  expect(answer.headers['content-disposition']).toBe('attachment; filename="alpha.life_expectancy.parquet"');
  const { num_rows, key_value_metadata = [] } = parquetMetadata(new Uint8Array(answer.bytes).buffer);
  expect(Number(answer.headers['x-credits-charged'])).toBe(Number(num_rows));
  const metadata = new Map(key_value_metadata.map(({ key, value }) => [key, value]));
  expect(metadata.get('edition')).toBe(answer.headers['x-snapshot']);
  expect(metadata.get('licence')).toBe('CC BY 4.0');
  expect(JSON.parse(metadata.get('indicators') ?? '')).toMatchObject([{ unit: 'years' }]);
});
