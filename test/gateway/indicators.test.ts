/** GET /indicators: every parameter, order, default and bound of its tables. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { IndicatorRecord } from '../../data/schema/records.ts';
import { INDICATORS } from './fixture-data.ts';
import { codeOf, useService } from './service.ts';

const service = await useService();

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

const list = async (query: string) => (await service.get(`/v1/indicators?${query}`)).json;
const ids = async (query: string): Promise<string[]> =>
  (await list(query)).data.map(({ id }: { id: string }) => id);
const { data: catalogue }: { data: IndicatorRecord[] } = await list('');

describe('the complete catalogue', () => {
  test('is returned whole, by name, without filter and limit', async () => {
    const { json } = await service.get('/v1/indicators');
    expect(json.data.map(({ id }: { id: string }) => id)).toEqual(NAME_ORDER);
    expect(json.meta).toEqual({ generated_at: '2026-11-20T02:00:00+00:00', count: 13, total: 13 });
  });

  test('has records without `related`', () => {
    for (const record of catalogue) expect(record).not.toHaveProperty('related');
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

const hasProjections = ({ coverage }: IndicatorRecord): boolean =>
  (coverage?.yr_max ?? 0) > (coverage?.latest_year ?? 0);
const placeInTopic = ({ id }: IndicatorRecord): number =>
  INDICATORS.find((one) => one.id === id)?.topic_order ?? 1000;
const folded = (text: string): string => text.normalize('NFC').toLowerCase();
/** Of what sorts, and its default direction. */
const SORTS: Record<string, [(record: IndicatorRecord) => number | string | null, 'asc' | 'desc']> = {
  name: [({ name }) => catalogue.findIndex((one) => one.name === name), 'asc'],
  coverage: [({ coverage }) => coverage?.n_countries ?? null, 'desc'],
  latest: [({ coverage }) => coverage?.latest_year ?? null, 'desc'],
  topic: [({ topic }) => topic, 'asc'],
  source: [({ provider }) => provider.id, 'asc'],
};

/** The name starts with the phrase, it holds every word, or name, id and description do; undefined: they do not. */
function relevance({ id, name, description }: IndicatorRecord, q: string): number | undefined {
  const words = folded(q).split(' ');
  if (folded(name).startsWith(folded(q))) return 0;
  if (words.every((word) => folded(name).includes(word))) return 1;
  return words.every((word) => [name, id, description ?? ''].some((text) => folded(text).includes(word)))
    ? 2
    : undefined;
}

/** The nulls last in both directions; ties stay in the order of the catalogue, or of the topic. */
function sorted(records: IndicatorRecord[], sort: string, dir: string | undefined): IndicatorRecord[] {
  const [key, defaultDir] = SORTS[sort] ?? [() => null, 'asc'];
  const sign = (dir ?? defaultDir) === 'asc' ? 1 : -1;
  return records.toSorted((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x === y) return sort === 'topic' ? placeInTopic(a) - placeInTopic(b) : 0;
    if (x === null || y === null) return x === null ? 1 : -1;
    return x < y ? -sign : sign;
  });
}

const WORDS = fc.oneof(
  fc.constantFrom('life', 'expectancy', 'XPECT', 'LIF', 'se', 'institute'),
  fc.constantFrom('l', 'a', 'nowhere', 'gdp.pcap', 'CO₂', 'ÉMISSIONS', 'e\u0301missions'),
  fc.constantFrom('%', '_', '.*', '(', '[a', '\\', "'", '"; DROP TABLE', '{x}'),
);
const SEARCHED = {
  q: fc.array(WORDS, { minLength: 1, maxLength: 2 }).map((words) => words.join(' ')),
  dir: fc.constantFrom('asc', 'desc'),
};
const ALL = {
  ...SEARCHED,
  topic: fc.constantFrom('health', 'economy', 'population'),
  provider: fc.constantFrom('alpha', 'beta', 'gamma'),
  featured: fc.boolean(),
  projections: fc.boolean(),
  sort: fc.constantFrom(...Object.keys(SORTS)),
  offset: fc.nat({ max: 14 }),
  limit: fc.integer({ min: 1, max: 14 }),
};
const any = fc.record(ALL, { requiredKeys: [] });
const ASKED: typeof any = fc.oneof(
  any,
  fc.record(SEARCHED, { requiredKeys: ['q'] }),
  fc.record({ sort: ALL.sort, dir: ALL.dir }, { requiredKeys: ['sort'] }),
);

test('filters combine with AND; sort, else relevance, else the name orders; a page is cut from that; meta echoes', async () => {
  await fc.assert(
    fc.asyncProperty(ASKED, async (asked) => {
      const { q, topic, provider, featured, projections, sort, dir, offset = 0, limit } = asked;
      const found = catalogue
        .filter((one) => topic === undefined || one.topic === topic)
        .filter((one) => provider === undefined || one.provider.id === provider)
        .filter((one) => featured === undefined || one.featured === featured)
        .filter((one) => projections === undefined || hasProjections(one) === projections)
        .filter((one) => q === undefined || relevance(one, q) !== undefined);
      const relevant = found.toSorted((a, b) => (relevance(a, q ?? '') ?? 0) - (relevance(b, q ?? '') ?? 0));
      const all = sort === undefined ? relevant : sorted(found, sort, dir);
      const page = all.slice(offset, limit && offset + limit);
      const query = new URLSearchParams(JSON.parse(JSON.stringify(asked)));
      const { limit: _, ...echoed } = asked;
      const meta = { generated_at: '2026-11-20T02:00:00+00:00', count: page.length, total: all.length };
      expect(await list(`${query}`)).toEqual({ data: page, meta: { ...meta, ...echoed } });
    }),
    { numRuns: 300 },
  );
});

describe('filters', () => {
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

test('more than 500 characters of q are 422 string_too_long', async () => {
  expect((await service.get(`/v1/indicators?q=${'a'.repeat(500)}`)).status).toBe(200);
  expect((await service.get(`/v1/indicators?q=${encodeURIComponent('🌍'.repeat(500))}`)).status).toBe(200);
  const answer = await service.get(`/v1/indicators?q=${'a'.repeat(501)}`);
  expect(answer.status).toBe(422);
  expect(answer.json.detail[0]).toMatchObject({ type: 'string_too_long', ctx: { max_length: 500 } });
});

test.each([
  ...['', 'Name', 'id', 'name,topic'].map((sort) => [`sort=${sort}`, 'bad_sort'] as const),
  ...['dir=up', 'dir=ASC', 'dir=', 'sort=name&dir=descending'].map((query) => [query, 'bad_dir'] as const),
])('%s gives 400 %s naming the accepted set', async (query, code) => {
  const answer = await service.get(`/v1/indicators?${query}`);
  expect([answer.status, codeOf(answer)]).toEqual([400, code]);
  expect(answer.json.error.message).toBe(
    code === 'bad_sort'
      ? 'sort must be one of name, coverage, latest, topic, source.'
      : 'dir must be one of asc, desc.',
  );
});
