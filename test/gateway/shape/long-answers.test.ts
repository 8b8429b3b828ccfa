/** Answers too long to be held: streamed whole, in every coding, and never a part of one that looks whole. */
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { Agent, request } from 'undici';
import { describe, expect, test, vi } from 'vitest';
import { buildStarter } from '../../shared-builds.ts';
import { useService } from '../service.ts';

interface Listed {
  id: string;
  access_tier: string;
  coverage: { n_countries: number; yr_min: number; yr_max: number } | null;
}

const { snapshots } = await buildStarter();
const service = await useService({ snapshots });
const owner = await service.account({ credits: 100_000_000 });
const { data } = (await service.get('/v1/indicators')).json;
const extent = ({ coverage }: Listed): number =>
  coverage === null ? 0 : coverage.n_countries * (coverage.yr_max - coverage.yr_min);
const largest = data
  .filter(({ access_tier }: Listed) => access_tier === 'open')
  .toSorted((a: Listed, b: Listed) => extent(b) - extent(a))
  .slice(0, 3);
/** The indicators with most rows that together make a long answer, and their rows. */
const ids: string[] = largest.map(({ id }: Listed) => id);
const single = await Promise.all(
  ids.map((id) => service.get(`/v1/data?indicator=${id}`, { key: owner.key })),
);
const rows: number = single.reduce((sum, { json }) => sum + json.meta.count, 0);

const long = (more = '') => `/v1/data?indicators=${ids.join(',')}${more}`;
const get = (path: string, coding?: string) =>
  service.get(path, { key: owner.key, ...(coding && { headers: { 'accept-encoding': coding } }) });

describe('a long answer', () => {
  test('has no Content-Length and is whole', async () => {
    const answer = await get(long());
    expect(rows).toBeGreaterThan(40_000);
    expect(answer.headers).not.toHaveProperty('content-length');
    expect(answer.json.data).toHaveLength(rows);
    expect(answer.json.meta.count).toBe(rows);
    expect(answer.headers['x-credits-charged']).toBe(String(rows));
  });

  const CODINGS = { br: brotliDecompressSync, gzip: gunzipSync, zstd: zstdDecompressSync };
  test.each(Object.entries(CODINGS))('compressed with %s is the same', async (coding, decompress) => {
    const plain = await get(long('&format=csv'));
    const compressed = await get(long('&format=csv'), coding);
    expect(compressed.headers['content-encoding']).toBe(coding);
    expect(decompress(compressed.bytes).equals(plain.bytes)).toBe(true);
  });

  test('wide is the same as in parts', async () => {
    const whole = await get(long('&layout=wide&format=ndjson'));
    const parts = await Promise.all(
      ['&to=1950', '&from=1951'].map((years) => get(long(`&layout=wide&format=ndjson${years}`))),
    );
    const lines = (texts: string[]) => texts.flatMap((text) => text.trimEnd().split('\n')).sort();
    expect(lines([whole.text])).toEqual(lines(parts.map(({ text }) => text)));
  });
});

describe('a fault', () => {
  /** Lets reading a column of one indicator fail. */
  function breakReading(id: string) {
    const { observations } = service.snapshots.current() ?? {};
    if (observations === undefined) throw new Error('nothing is served');
    const read = observations.details.bind(observations);
    return vi
      .spyOn(observations, 'details')
      .mockImplementation((...asked) =>
        asked[0] === id ? Promise.reject(new Error('broken')) : read(...asked),
      );
  }
  const FIELDS = '&fields=indicator,iso3,year,value,status';

  test('in the middle breaks the connection, and the charge is taken back', async () => {
    const before = await service.balance(owner);
    const spy = breakReading(ids.at(-1) ?? '');
    const agent = new Agent();
    const { statusCode, body } = await request(service.url + long(FIELDS), {
      dispatcher: agent,
      headers: { authorization: `Bearer ${owner.key}` },
    });
    expect(statusCode).toBe(200);
    const outcome = await body.text().then(
      (text) => `${text.length} characters`,
      () => 'broken off',
    );
    expect(outcome).toBe('broken off');
    await vi.waitFor(async () => expect(await service.balance(owner)).toBe(before), 10_000);
    spy.mockRestore();
    await agent.destroy();
  });

  test('before the first row is an ordinary error, free of charge', async () => {
    const before = await service.balance(owner);
    const spy = breakReading(ids[0] ?? '');
    const answer = await get(long(FIELDS));
    expect(answer.status).toBe(500);
    expect(await service.balance(owner)).toBe(before);
    spy.mockRestore();
  });
});

test('a client that goes away pays, and leaves nothing behind', async () => {
  const before = await service.balance(owner);
  const agent = new Agent();
  const { body } = await request(service.url + long(), {
    dispatcher: agent,
    headers: { authorization: `Bearer ${owner.key}` },
  });
  body.on('error', () => {});
  body.destroy();
  await agent.destroy();
  expect((await get(long('&format=csv'))).status).toBe(200);
  expect(await service.balance(owner)).toBe(before - 2 * rows);
});
