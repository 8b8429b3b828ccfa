/** GET /indicators: the orders it comes in, by relevance and by `sort`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { codeOf, Service } from './service.ts';

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

  test('an explicit sort wins over relevance', async () => {
    expect(await ids('q=life&sort=name')).toEqual([
      'alpha.child_mortality',
      'alpha.life_expectancy',
      'beta.life_expectancy',
    ]);
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

  test('sort=name: ascending and descending, equal names by id in both', async () => {
    expect(await ids('sort=name')).toEqual(NAME_ORDER);
    const reversed = NAME_ORDER.toReversed();
    const at = reversed.indexOf('beta.life_expectancy');
    reversed.splice(at, 2, 'alpha.life_expectancy', 'beta.life_expectancy');
    expect(await ids('sort=name&dir=desc')).toEqual(reversed);
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

  test('sort=topic: topic, then the curated order within it, then name', async () => {
    expect((await ids('sort=topic')).slice(-7)).toEqual([
      'alpha.child_mortality',
      'beta.life_expectancy',
      'alpha.life_expectancy',
      'alpha.population_total',
      'gamma.zero',
      'beta.empty_series',
      'beta.gaps_only',
    ]);
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
