/** `include` on indicator and list: known words add their property, unknown ones are refused, without it nothing changes. */
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { ADDITION_WORDS, indicatorFile, ROUTE_FILES } from '../../data/schema/snapshot.ts';
import { INCLUDE_WORDS } from '../../gateway/api/operations/catalogue/include.ts';
import { directoryOfTest } from '../after-tests.ts';
import { ADDED_LISTS, INDICATORS } from './fixture-data.ts';
import { fixturePath, publishFixture } from './fixture-snapshot.ts';
import { Service, useService } from './service.ts';

const ID = 'alpha.life_expectancy';
const DETAIL = `/v1/indicators/${ID}`;

const service = await useService();

const snapshotFile = async (path: string) => readFile(await fixturePath(service.directory, path), 'utf8');

test('without it, bodies are the prerendered files, byte for byte', async () => {
  expect((await service.get(DETAIL)).text).toBe(await snapshotFile(indicatorFile(ID)));
  expect((await service.get('/v1/indicators')).text).toBe(await snapshotFile(ROUTE_FILES.indicators));
});

describe('one indicator', () => {
  test.each(ADDITION_WORDS)('%s: the prerendered answer and one property more', async (word) => {
    const plain = JSON.parse(await snapshotFile(indicatorFile(ID)));
    const { json } = await service.get(`${DETAIL}?include=${word}`);
    expect(json).toEqual({
      data: { ...plain.data, [word]: ADDED_LISTS[word]?.[ID] ?? [] },
      meta: { ...plain.meta, include: [word] },
    });
  });

  test('words may be repeated and stand between blanks', async () => {
    const all = INCLUDE_WORDS.join(',');
    const { json } = await service.get(`${DETAIL}?include=%20sources%20,sources,${all}`);
    expect(json.meta.include.toSorted()).toEqual(INCLUDE_WORDS.toSorted());
    expect(json.data.sources).toEqual(ADDED_LISTS.sources?.[ID]);
  });

  test('an indicator without an entry has an empty list', async () => {
    const { json } = await service.get('/v1/indicators/gamma.zero?include=sources');
    expect(json.data.sources).toEqual([]);
  });
});

describe('the list', () => {
  test('every record of the page has the property, and nothing else changes', async () => {
    const plain = (await service.get('/v1/indicators?sort=latest')).json;
    const { json } = await service.get('/v1/indicators?sort=latest&include=sources');
    expect(json.meta).toEqual({ ...plain.meta, include: ['sources'] });
    expect(json.data).toEqual(
      plain.data.map((record: { id: string }) => ({
        ...record,
        sources: ADDED_LISTS.sources?.[record.id] ?? [],
      })),
    );
  });

  test('`limit` and `q` page as without it', async () => {
    const plain = (await service.get('/v1/indicators?q=life&limit=1&offset=1')).json;
    const { json } = await service.get('/v1/indicators?q=life&limit=1&offset=1&include=sources');
    expect(json.data).toEqual([{ ...plain.data[0], sources: ADDED_LISTS.sources?.[plain.data[0].id] ?? [] }]);
    expect(json.meta).toEqual({ ...plain.meta, include: ['sources'] });
  });
});

describe.each([DETAIL, '/v1/indicators'])('%s', (path) => {
  test.each([
    ['sources,source', 'source', 1],
    ['Sources', 'Sources', 0],
    ['', '', 0],
    ['sources,', '', 1],
    ['__proto__', '__proto__', 0],
  ])('include=%s is 422 and names the known words', async (sent, input, at) => {
    const answer = await service.get(`${path}?include=${sent}`);
    expect(answer.status).toBe(422);
    const expected = INCLUDE_WORDS.map((word) => `'${word}'`).join(' or ');
    expect(answer.json.detail).toEqual([
      {
        loc: ['query', 'include', at],
        msg: `Input should be ${expected}`,
        type: 'literal_error',
        input,
        ctx: { expected },
      },
    ]);
  });
});

test('a page has at most 500 records unless `limit` says otherwise, and a snapshot without lists has empty ones', async () => {
  const directory = await directoryOfTest();
  const [first] = INDICATORS;
  const many = Array.from({ length: 501 }, (_, at) => ({
    ...(first ?? { name: '', topic: 'health', rows: [] }),
    id: `alpha.series_${at}`,
    rows: [],
  }));
  await publishFixture(directory, { indicators: many });
  await using other = await Service.start({ snapshots: directory });
  const { json } = await other.get('/v1/indicators?include=sources');
  expect(json.meta).toMatchObject({ count: 500, total: 501 });
  expect(json.data.every(({ sources }: { sources: unknown[] }) => sources.length === 0)).toBe(true);
  expect((await other.get('/v1/indicators')).json.data).toHaveLength(501);
});
