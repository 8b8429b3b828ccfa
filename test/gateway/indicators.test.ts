/** GET /indicators: every parameter, order, default and bound of its tables. */
import { describe, expect, test } from 'vitest';
import { stopAfterTests } from '../after-tests.ts';
import { codeOf, Service } from './service.ts';

const service = await stopAfterTests(Service.start());

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

describe('q', () => {
  test('relevance: the name starts with the phrase, the name holds every token, the rest; each by name', async () => {
    expect(await ids('q=life+expectancy')).toEqual([
      'alpha.life_expectancy',
      'beta.life_expectancy',
      'alpha.child_mortality', // in its description
    ]);
    expect(await ids('q=se')).toEqual(['beta.empty_series', 'gamma.reserves', 'beta.long_series']);
  });

  test('every token must match name, id or description', async () => {
    expect(await ids('q=expectancy+institute')).toEqual(['beta.life_expectancy']);
    expect(await ids('q=expectancy+nowhere')).toEqual([]);
    expect(await ids('q=gdp.pcap')).toEqual(['alpha.GDP.PCAP.CD']);
  });

  test('tokens are case-insensitive substrings, in any order', async () => {
    expect(await ids('q=XPECT+LIF')).toEqual([
      'alpha.life_expectancy',
      'beta.life_expectancy',
      'alpha.child_mortality',
    ]);
  });

  test('treats composed and decomposed letters as equal', async () => {
    expect(await ids(`q=${encodeURIComponent('ÉMISSIONS')}`)).toEqual(['beta.co2_emissions']);
    expect(await ids(`q=${encodeURIComponent('e\u0301missions'.normalize('NFD'))}`)).toEqual([
      'beta.co2_emissions',
    ]);
    expect(await ids(`q=${encodeURIComponent('CO₂')}`)).toEqual(['beta.co2_emissions']);
  });

  test('treats every character of q literally', async () => {
    for (const q of ['%', '_', '.*', '(', '[a', '\\', "'", '"; DROP TABLE', '{x}']) {
      const answer = await service.get(`/v1/indicators?q=${encodeURIComponent(q)}`);
      expect(answer.status).toBe(200);
      expect(answer.json.meta.q).toBe(q);
    }
    expect(await ids('q=%25')).toEqual([]);
  });

  test('relevance wins over the default sort, and dir alone does not change it', async () => {
    expect(await ids('q=life&dir=desc')).toEqual(await ids('q=life'));
    expect(await ids('q=life&dir=asc')).toEqual(await ids('q=life'));
  });

  test('more than 500 characters are 422 string_too_long', async () => {
    expect((await service.get(`/v1/indicators?q=${'a'.repeat(500)}`)).status).toBe(200);
    expect((await service.get(`/v1/indicators?q=${encodeURIComponent('🌍'.repeat(500))}`)).status).toBe(200);
    const answer = await service.get(`/v1/indicators?q=${'a'.repeat(501)}`);
    expect(answer.status).toBe(422);
    expect(answer.json.detail[0]).toMatchObject({ type: 'string_too_long', ctx: { max_length: 500 } });
  });
});

describe('sort and dir', () => {
  const keyOf: Record<string, (record: Listed) => number | string | null> = {
    coverage: ({ coverage }) => coverage?.n_countries ?? null,
    latest: ({ coverage }) => coverage?.latest_year ?? null,
    topic: ({ topic }) => topic,
    source: ({ provider }) => provider.id,
  };
  const place = (id: string): number => NAME_ORDER.indexOf(id);

  test.each([
    ['name', 'asc'],
    ['coverage', 'desc'],
    ['latest', 'desc'],
    ['topic', 'asc'],
    ['source', 'asc'],
  ])('sort=%s has the default direction %s', async (sort, dir) => {
    expect(await ids(`sort=${sort}`)).toEqual(await ids(`sort=${sort}&dir=${dir}`));
  });

  test.each(
    ['coverage', 'latest', 'source'].flatMap((sort) => ['asc', 'desc'].map((dir) => [sort, dir] as const)),
  )('sort=%s&dir=%s: by the key, nulls last, ties by name ascending', async (sort, dir) => {
    const { data } = await list(`sort=${sort}&dir=${dir}`);
    const key = keyOf[sort] ?? (() => null);
    const sign = dir === 'asc' ? 1 : -1;
    const expected = (data as Listed[]).toSorted((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === y) return place(a.id) - place(b.id);
      if (x === null) return 1;
      if (y === null) return -1;
      return x < y ? -sign : sign;
    });
    expect(data).toEqual(expected);
    const keys = (data as Listed[]).map(key);
    if (sort !== 'source') expect(keys.at(-1)).toBeNull();
  });

  test('sort=topic&dir=desc reverses the topics only', async () => {
    const topics = (await list('sort=topic&dir=desc')).data.map(({ topic }: Listed) => topic);
    expect(topics).toEqual(topics.toSorted().toReversed());
    expect(await ids('sort=topic&dir=desc&topic=health')).toEqual(await ids('sort=topic&topic=health'));
  });

  test('dir has no effect without sort, and is echoed', async () => {
    const { data, meta } = await list('dir=desc');
    expect(data.map(({ id }: Listed) => id)).toEqual(NAME_ORDER);
    expect(meta.dir).toBe('desc');
  });

  test.each(['', 'Name', 'id', 'name,topic'])(
    'sort=%s gives 400 bad_sort naming the accepted set',
    async (sort) => {
      const answer = await service.get(`/v1/indicators?sort=${sort}`);
      expect(answer.status).toBe(400);
      expect(codeOf(answer)).toBe('bad_sort');
      expect(answer.json.error.message).toBe('sort must be one of name, coverage, latest, topic, source.');
    },
  );

  test.each(['dir=up', 'dir=ASC', 'dir=', 'sort=name&dir=descending'])(
    '%s gives 400 bad_dir',
    async (query) => {
      const answer = await service.get(`/v1/indicators?${query}`);
      expect(answer.status).toBe(400);
      expect(codeOf(answer)).toBe('bad_dir');
      expect(answer.json.error.message).toBe('dir must be one of asc, desc.');
    },
  );
});
