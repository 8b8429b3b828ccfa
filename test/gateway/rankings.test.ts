/** GET /rankings/{indicator}: its rows, its years, its refusals. */

import { describe, expect, test } from 'vitest';
import type { ObservationRow } from '../../data/schema/records.ts';
import { codeOf, useService } from './service.ts';

const service = await useService();
const owner = await service.account();

const get = (path: string) => service.get(`/v1/rankings/${path}`, { key: owner.key });
const brief = (rows: ObservationRow[]) => rows.map(({ rank, iso3, value }) => [rank, iso3, value]);

describe('rows', () => {
  test('every country: measured ones by rank then name, then the others by name', async () => {
    const { json } = await get('alpha.life_expectancy?year=2020');
    expect(brief(json.data)).toEqual([
      [1, 'DEU', 80],
      [1, 'USA', 80],
      [3, 'KEN', 62.5],
      [null, 'AFG', null],
      [null, 'ALA', null],
      [null, 'ALB', null],
      [null, 'BRA', null],
      [null, 'CIV', null],
      [null, 'CUW', null],
      [null, 'XKX', null],
      [null, 'ZWE', null],
    ]);
  });

  test('lower is better: the smallest value is first', async () => {
    const { json } = await get('alpha.child_mortality?year=2016');
    expect(brief(json.data.slice(0, 3))).toEqual([
      [1, 'DEU', 4],
      [1, 'KEN', 4],
      [3, 'AFG', 68],
    ]);
    expect(json.meta.higher_is_better).toBe(false);
  });

  test('no better end ranks the largest first', async () => {
    const { json } = await get('alpha.population_total?year=2020');
    expect(brief(json.data.slice(0, 2))).toEqual([
      [1, 'USA', 331],
      [2, 'KEN', 51],
    ]);
    expect(json.meta.higher_is_better).toBeNull();
  });

  test('zero is a measurement', async () => {
    const { json } = await get('gamma.zero');
    expect(brief(json.data.slice(0, 3))).toEqual([
      [1, 'ALA', 0],
      [1, 'ALB', 0],
      [null, 'AFG', null],
    ]);
  });

  test('a forecast year says so', async () => {
    const { json } = await get('alpha.population_total?year=2021');
    expect(json.data[0]).toMatchObject({ iso3: 'USA', value: 332, projected: true });
  });

  test('a display indicator is ranked', async () => {
    expect((await get('gamma.reserves')).json.meta).toMatchObject({ year: 2019, ranked: 2 });
  });
});

describe('year', () => {
  test('default and `latest`: the newest observed year, not a forecast', async () => {
    const plain = await get('alpha.population_total');
    expect(plain.json.meta.year).toBe(2020);
    expect((await get('alpha.population_total?year=latest')).text).toBe(plain.text);
  });

  test('a gap in the newest year does not count as observed', async () => {
    expect((await get('alpha.life_expectancy')).json.meta.year).toBe(2021);
  });

  test('a year without any observation gives an empty array for 1 credit', async () => {
    const answer = await get('alpha.life_expectancy?year=1900');
    expect(answer.json.data).toEqual([]);
    expect(answer.json.meta).toMatchObject({ count: 0, ranked: 0, year: 1900 });
    expect(answer.headers['x-credits-charged']).toBe('1');
  });

  test('`latest` of a series without an observed year still names one', async () => {
    expect((await get('beta.forecast_only')).json.meta.year).toBe(2032);
    expect((await get('beta.empty_series')).json).toMatchObject({ data: [], meta: { year: 2026 } });
  });

  test('three-digit years are written with four digits', async () => {
    expect((await get('beta.co2_emissions?year=0730')).json.data[0]).toMatchObject({
      iso3: 'CIV',
      value: 0.5,
    });
  });

  test.each(['', '20', '730', '20200', 'Latest', '2020.0', '-200', '%202020', '２０２０', '2e03'])(
    'year=%s gives 422',
    async (year) => {
      const answer = await get(`alpha.life_expectancy?year=${encodeURI(year)}`);
      expect(answer.status).toBe(422);
      expect(answer.json.detail[0]).toMatchObject({
        loc: ['query', 'year'],
        type: 'string_pattern_mismatch',
      });
      expect(answer.headers['x-credits-charged']).toBe('0');
    },
  );
});

describe('refusals, all free of charge', () => {
  test('404 indicator_not_found', async () => {
    const answer = await get('none.such');
    expect(answer.status).toBe(404);
    expect(answer.headers['x-credits-charged']).toBe('0');
  });

  test('400 not_rankable for a no_rank indicator', async () => {
    const answer = await get('alpha.regime_code');
    expect(answer.status).toBe(400);
    expect(codeOf(answer)).toBe('not_rankable');
    expect(answer.headers['x-credits-charged']).toBe('0');
  });
});
