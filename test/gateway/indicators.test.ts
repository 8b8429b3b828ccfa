/** GET /indicators: every parameter, sort, default and bound of its tables. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Service } from './service.ts';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

const NAME_ORDER = [
  'gamma.zero', // Åland ferries
  'alpha.child_mortality',
  'beta.co2_emissions',
  'beta.empty_series',
  'beta.forecast_only',
  'gamma.reserves', // Foreign reserves
  'beta.gaps_only',
  'alpha.GDP.PCAP.CD',
  'alpha.life_expectancy', // the same name twice: by id
  'beta.life_expectancy',
  'alpha.population_total',
  'alpha.regime_code',
  'beta.long_series', // Zeta long series
];

interface Listed {
  id: string;
  topic: string;
  featured: boolean;
  provider: { id: string };
  coverage: { n_countries: number; latest_year: number | null } | null;
}

const list = async (query: string) => (await service.get(`/v1/indicators?${query}`)).json;
const ids = async (query: string): Promise<string[]> =>
  (await list(query)).data.map(({ id }: { id: string }) => id);

describe('the complete catalogue', () => {
  test('is returned whole, by name, without filter and limit', async () => {
    const { json } = await service.get('/v1/indicators');
    expect(json.data.map(({ id }: { id: string }) => id)).toEqual(NAME_ORDER);
    expect(json.meta).toEqual({ generated_at: '2026-11-20T02:00:00+00:00', count: 13, total: 13 });
  });

  test('records have no `related`', async () => {
    for (const record of (await list('limit=500')).data) expect(record).not.toHaveProperty('related');
  });

  test('ignores unknown parameters', async () => {
    const plain = await service.get('/v1/indicators');
    expect((await service.get('/v1/indicators?nonsense=1&_=%zz')).text).toBe(plain.text);
  });

  test('a blank q counts as not sent', async () => {
    const plain = await service.get('/v1/indicators');
    for (const blank of ['q=', 'q=+', 'q=%20%09']) {
      expect((await service.get(`/v1/indicators?${blank}`)).text).toBe(plain.text);
    }
  });
});

describe('filters', () => {
  test('topic: exact', async () => {
    expect(await ids('topic=health')).toEqual([
      'alpha.child_mortality',
      'alpha.life_expectancy',
      'beta.life_expectancy',
    ]);
    expect(await ids('topic=Health')).toEqual([]);
  });

  test('provider: exact', async () => {
    expect(await ids('provider=gamma')).toEqual(['gamma.zero', 'gamma.reserves']);
    expect(await ids('provider=gam')).toEqual([]);
  });

  test('featured: the set and its complement', async () => {
    const featured = await ids('featured=true');
    const others = await ids('featured=false');
    expect(featured).toEqual(['alpha.child_mortality', 'alpha.life_expectancy', 'alpha.population_total']);
    expect([...featured, ...others].toSorted()).toEqual(NAME_ORDER.toSorted());
  });

  test('projections=true: only series with forecast years beyond the newest observed year', async () => {
    expect(await ids('projections=true')).toEqual(['beta.forecast_only', 'alpha.population_total']);
  });

  test('projections=false: fully observed series, including those without coverage', async () => {
    const observed = await ids('projections=false');
    expect(observed).toHaveLength(11);
    expect(observed).toContain('beta.empty_series');
  });

  test('all filters combine with AND', async () => {
    expect(await ids('topic=health&provider=alpha&featured=true&projections=false&q=life')).toEqual([
      'alpha.life_expectancy',
      'alpha.child_mortality',
    ]);
  });

  test.each(['true', 'TRUE', '1', 'yes', 'Yes', 'on', 'ON'])('featured=%s is true', async (word) => {
    expect((await list(`featured=${word}`)).meta.featured).toBe(true);
  });
  test.each(['false', 'False', '0', 'no', 'off'])('featured=%s is false', async (word) => {
    expect((await list(`featured=${word}`)).meta.featured).toBe(false);
  });
  test.each(['featured', 'projections'])('%s: anything else is 422 bool_parsing', async (name) => {
    for (const word of ['', 't', 'y', '2', 'null', 'truee']) {
      const answer = await service.get(`/v1/indicators?${name}=${word}`);
      expect(answer.status).toBe(422);
      expect(answer.json.detail).toEqual([
        {
          loc: ['query', name],
          msg: 'Input should be a valid boolean, unable to interpret input',
          type: 'bool_parsing',
          input: word,
        },
      ]);
    }
  });

  test('the last of a repeated parameter counts', async () => {
    expect(await ids('topic=trade&topic=population')).toEqual(['alpha.population_total']);
    expect((await service.get('/v1/indicators?limit=0&limit=1')).status).toBe(200);
  });
});

describe('limit and offset', () => {
  test('a page: count and total differ; offset is echoed, limit is not', async () => {
    const { data, meta } = await list('limit=3&offset=2');
    expect(data.map(({ id }: Listed) => id)).toEqual(NAME_ORDER.slice(2, 5));
    expect(meta).toEqual({ generated_at: '2026-11-20T02:00:00+00:00', count: 3, total: 13, offset: 2 });
  });

  test('pages cover the list without gap or overlap', async () => {
    const pages = await Promise.all([0, 5, 10].map((offset) => ids(`limit=5&offset=${offset}&sort=latest`)));
    expect(pages.flat()).toEqual(await ids('sort=latest'));
  });

  test('offset alone pages the rest; beyond the end it is empty', async () => {
    expect(await ids('offset=10')).toEqual(NAME_ORDER.slice(10));
    const { data, meta } = await list('offset=1000');
    expect(data).toEqual([]);
    expect(meta).toMatchObject({ count: 0, total: 13, offset: 1000 });
  });

  test('offset=0 is echoed', async () => {
    expect((await list('offset=0')).meta.offset).toBe(0);
  });

  test.each(['limit=1', 'limit=500', 'limit=007', 'offset=9007199254740991'])(
    '%s is accepted',
    async (query) => {
      expect((await service.get(`/v1/indicators?${query}`)).status).toBe(200);
    },
  );

  test.each([
    ['limit=0', 'greater_than_equal', { ge: 1 }],
    ['limit=-1', 'greater_than_equal', { ge: 1 }],
    ['limit=501', 'less_than_equal', { le: 500 }],
    ['limit=99999999999999999999', 'int_parsing_size', undefined],
    ['limit=', 'int_parsing', undefined],
    ['limit=1e2', 'int_parsing', undefined],
    ['limit=%205', 'int_parsing', undefined],
    ['limit=%2B5', 'int_parsing', undefined],
    ['limit=5.0', 'int_parsing', undefined],
    ['limit=0x10', 'int_parsing', undefined],
    ['limit=%D9%A3', 'int_parsing', undefined],
    ['limit=1_0', 'int_parsing', undefined],
    ['offset=-1', 'greater_than_equal', { ge: 0 }],
    ['offset=x', 'int_parsing', undefined],
  ])('%s gives 422 %s', async (query, type, ctx) => {
    const answer = await service.get(`/v1/indicators?${query}`);
    expect(answer.status).toBe(422);
    expect(answer.json.detail).toHaveLength(1);
    expect(answer.json.detail[0]).toMatchObject({ loc: ['query', query.split('=')[0]], type });
    expect(answer.json.detail[0].ctx).toEqual(ctx);
  });

  test('several bad parameters are reported together', async () => {
    const { json } = await service.get('/v1/indicators?limit=0&offset=-1&featured=x');
    expect(json.detail.map(({ loc }: { loc: string[] }) => loc[1])).toEqual(['featured', 'limit', 'offset']);
  });
});

test('meta echoes every filter that was sent and understood', async () => {
  const query =
    'q=a&topic=health&provider=alpha&featured=1&projections=no&sort=name&dir=desc&offset=0&limit=9';
  expect((await list(query)).meta).toEqual({
    generated_at: '2026-11-20T02:00:00+00:00',
    count: 2,
    total: 2,
    q: 'a',
    topic: 'health',
    provider: 'alpha',
    featured: true,
    projections: false,
    sort: 'name',
    dir: 'desc',
    offset: 0,
  });
});
