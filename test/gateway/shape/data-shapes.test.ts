/** GET /data about several indicators, codes and groups, with chosen columns, wide, in every text format: by eye, over the fixture. */
import { describe, expect, test } from 'vitest';
import { codeOf, useService } from '../service.ts';

const service = await useService();
const owner = await service.account({ credits: 1_000_000 });

const get = (query: string) => service.get(`/v1/data?${query}`, { key: owner.key });
const charged = (answer: Awaited<ReturnType<typeof get>>) => Number(answer.headers['x-credits-charged']);
const TWO = 'indicators=alpha.life_expectancy,alpha.population_total';

describe('several indicators', () => {
  test('rows one indicator after the other, each with its id; meta lists them', async () => {
    const answer = await get(`${TWO}&countries=USA&from=2020`);
    expect(
      answer.json.data.map((row: Record<string, unknown>) => [row.indicator, row.year, row.value]),
    ).toEqual([
      ['alpha.life_expectancy', 2020, 80],
      ['alpha.life_expectancy', 2021, 79],
      ['alpha.population_total', 2020, 331],
      ['alpha.population_total', 2021, 332],
    ]);
    expect(charged(answer)).toBe(4);
    const { indicators, ...meta } = answer.json.meta;
    expect(indicators.map(({ id }: { id: string }) => id)).toEqual([
      'alpha.life_expectancy',
      'alpha.population_total',
    ]);
    expect(indicators[0]).toEqual({
      id: 'alpha.life_expectancy',
      name: 'Life expectancy',
      unit: 'years',
      licence: 'CC BY 4.0',
      licence_url: 'https://creativecommons.org/licenses/by/4.0/',
      attribution: 'Alpha Institute, CC BY 4.0',
    });
    expect(meta).toEqual({
      generated_at: '2026-11-20T02:00:00+00:00',
      count: 4,
      countries: ['USA'],
      from: 2020,
    });
  });

  test('a display-only or unknown one refuses the whole call and is named', async () => {
    const display = await get(`${TWO},gamma.reserves`);
    expect([display.status, codeOf(display), charged(display)]).toEqual([403, 'export_restricted', 0]);
    expect(display.json.error.message).toContain('gamma.reserves');
    const unknown = await get(`${TWO},none.such`);
    expect([unknown.status, codeOf(unknown), charged(unknown)]).toEqual([404, 'indicator_not_found', 0]);
    expect(unknown.json.error.message).toContain('none.such');
  });

  test('a download names every licence and credit line', async () => {
    const { headers } = await get('indicators=alpha.regime_code,beta.co2_emissions&format=csv');
    expect(headers['content-disposition']).toBe('attachment; filename="almanac-data.csv"');
    expect(headers.link).toBe('<https://creativecommons.org/licenses/by/4.0/>; rel="license"');
    expect(decodeURIComponent(String(headers['x-attribution']))).toBe(
      'Alpha Institute, CC BY 4.0; Büro “Beta” — 100 % público, 東京',
    );
  });
});

describe('fields', () => {
  test('the columns asked for, in their order, echoed in meta', async () => {
    const fields =
      'name,value,iso2,m49,unit,indicator_name,region,income_group,rank_delta_1y,status,rank_lo,indicator';
    const answer = await get(`indicator=alpha.life_expectancy&countries=USA&from=2021&fields=${fields}`);
    expect(Object.entries(answer.json.data[0])).toEqual([
      ['name', 'United States'],
      ['value', 79],
      ['iso2', 'US'],
      ['m49', 12],
      ['unit', 'years'],
      ['indicator_name', 'Life expectancy'],
      ['region', 'North America'],
      ['income_group', 'High income'],
      ['rank_delta_1y', -1],
      ['status', null],
      ['rank_lo', null],
      ['indicator', 'alpha.life_expectancy'],
    ]);
    expect(answer.json.meta.fields).toEqual(fields.split(','));
    expect(charged(answer)).toBe(1);
  });

  test('changes of rank are those of the ranking', async () => {
    const data = await get('indicator=alpha.life_expectancy&from=2021&to=2021&fields=iso3,rank_delta_1y');
    const ranking = await service.get('/v1/rankings/alpha.life_expectancy?year=2021', { key: owner.key });
    for (const row of data.json.data) expect(ranking.json.data).toContainEqual(expect.objectContaining(row));
  });
});

describe('wide', () => {
  test('a row per country and year; a cell without a row is free, a gap is not', async () => {
    const answer = await get(`${TWO}&layout=wide&countries=DEU,USA&from=2020&to=2022`);
    const [life, population] = ['alpha.life_expectancy', 'alpha.population_total'];
    expect(answer.json.data).toEqual([
      { iso3: 'DEU', year: 2020, [life]: 80, [population]: null },
      { iso3: 'DEU', year: 2021, [life]: 82, [population]: null },
      { iso3: 'DEU', year: 2022, [life]: null, [population]: null },
      { iso3: 'USA', year: 2020, [life]: 80, [population]: 331 },
      { iso3: 'USA', year: 2021, [life]: 79, [population]: 332 },
    ]);
    expect(answer.json.meta.count).toBe(5);
    expect(charged(answer)).toBe(7);
  });

  test('CSV has a column for each indicator', async () => {
    const answer = await get(`${TWO}&layout=wide&countries=USA&from=2021&format=csv`);
    expect(answer.text).toBe('iso3,year,alpha.life_expectancy,alpha.population_total\r\nUSA,2021,79,332\r\n');
  });
});

test('NDJSON: a row a line, as in JSON', async () => {
  const query = 'indicator=alpha.GDP.PCAP.CD';
  const answer = await get(`${query}&format=ndjson`);
  expect(answer.headers['content-type']).toBe('application/x-ndjson');
  const lines = answer.text.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toEqual((await get(query)).json.data);
});

describe('refused parameters, free of charge', () => {
  const many = Array.from({ length: 51 }, (_, at) => `alpha.x${at}`).join(',');
  const years = Array.from({ length: 201 }, (_, at) => 1900 + at).join(',');
  const cases: [string, string, object][] = [
    [
      'both indicator and indicators',
      `indicator=a.b&${TWO}`,
      { loc: ['query', 'indicators'], type: 'value_error' },
    ],
    ['51 indicators', `indicators=${many}`, { type: 'too_long', ctx: { max_length: 50, actual_length: 51 } }],
    ['a blank among them', `${TWO},`, { loc: ['query', 'indicators', 2], type: 'string_too_short' }],
    [
      'an unknown field',
      `${TWO}&fields=iso3,nonsense`,
      { loc: ['query', 'fields', 1], type: 'literal_error' },
    ],
    ['a field twice', `${TWO}&fields=iso3,iso3`, { loc: ['query', 'fields', 1], type: 'value_error' }],
    [
      'fields of a wide table',
      `${TWO}&fields=iso3&layout=wide`,
      { loc: ['query', 'fields'], type: 'value_error' },
    ],
    ['no latest value', `${TWO}&latest=0`, { loc: ['query', 'latest'], type: 'greater_than_equal' }],
    ['years and a span', `${TWO}&years=2020&to=2021`, { loc: ['query', 'years'], type: 'value_error' }],
    [
      'a range among years',
      `${TWO}&years=2000,2001-2003`,
      { loc: ['query', 'years', 1], type: 'int_parsing' },
    ],
    ['no year', `${TWO}&years=`, { loc: ['query', 'years', 0], type: 'int_parsing' }],
    [
      '201 years',
      `${TWO}&years=${years}`,
      { type: 'too_long', ctx: { max_length: 200, actual_length: 201 } },
    ],
    ['another layout', `${TWO}&layout=square`, { loc: ['query', 'layout'], type: 'literal_error' }],
    ['another rule for nulls', `${TWO}&missing=keep`, { loc: ['query', 'missing'], type: 'literal_error' }],
  ];
  test.each(cases)('%s', async (_name, query, detail) => {
    const answer = await get(query);
    expect(answer.status).toBe(422);
    expect(answer.json.detail[0]).toMatchObject(detail);
    expect(charged(answer)).toBe(0);
  });
});

/** Figures of the countries that codes and groups stand for. */
const of = (countries: string, path = 'data') =>
  service.get(`/v1/${path}?indicator=alpha.life_expectancy&countries=${countries}`, { key: owner.key });

test('ISO2 and M49 codes stand for their countries, in any mixture', async () => {
  // The fixture numbers its countries from 004 on.
  const answer = await of('us,010,KEN,KE');
  expect(answer.json.meta.countries).toEqual(['USA', 'DEU', 'KEN']);
  const plain = await of('USA,DEU,KEN');
  expect(answer.text).toBe(plain.text);
  expect(answer.headers['x-credits-charged']).toBe(plain.headers['x-credits-charged']);
});

test('a code that no country has matches nothing and is echoed in upper case', async () => {
  const answer = await of('zz,999');
  expect(answer.json).toMatchObject({ data: [], meta: { countries: ['ZZ', '999'], count: 0 } });
  expect(answer.headers['x-credits-charged']).toBe('1');
});

test('groups are their served members, whatever their case', async () => {
  const answer = await of('@G7,ken');
  expect(answer.json.meta.countries).toEqual(['DEU', 'USA', 'KEN']);
  expect(answer.text).toBe((await of('DEU,USA,KEN')).text);
  const none = await of('@asean');
  expect(none.json).toMatchObject({ data: [], meta: { countries: [], count: 0 } });
});

test('the list of groups tells members, source and date', async () => {
  const { data, meta } = (await service.get('/v1/groups')).json;
  expect(meta.count).toBe(data.length);
  expect(data.find(({ id }: { id: string }) => id === 'wb-north-america')).toMatchObject({
    members: ['USA'],
  });
  expect(data.find(({ id }: { id: string }) => id === 'eu')).toEqual({
    id: 'eu',
    name: 'European Union',
    members: ['DEU'],
    source: 'https://european-union.europa.eu/principles-countries-history/eu-countries_en',
    as_of: '2020-02-01',
  });
});
