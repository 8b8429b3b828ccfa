/** Entity tags, 304, Vary and content codings. */
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { FREE_ROUTES, KEYED_ROUTES } from './public-routes.ts';
import { type Answer, useService } from './service.ts';

const service = await useService();
const owner = await service.account({ credits: 100_000 });

const DECODE: Record<string, (bytes: Buffer) => Buffer> = {
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
  gzip: gunzipSync,
  identity: (bytes) => bytes,
};
const codingOf = (answer: Answer): string => String(answer.headers['content-encoding'] ?? 'identity');
const ask = (path: string, accept: string | null, key?: string, headers = {}) =>
  service.get(path, {
    headers: { ...headers, ...(accept === null ? {} : { 'accept-encoding': accept }) },
    ...(key === undefined ? {} : { key }),
  });

const TAGGED = [
  ...FREE_ROUTES.map(({ path }) => path),
  '/v1/indicators?sort=latest',
  '/v1/indicators?include=sources',
  '/v1/indicators/alpha.life_expectancy?include=sources',
  '/v1/countries?region=South+Asia',
];

describe.each(TAGGED)('%s', (path) => {
  test('has a strong ETag, distinct per coding and stable', async () => {
    const tags = new Map<string, string>();
    for (const coding of ['br', 'zstd', 'gzip', 'identity']) {
      const answer = await ask(path, coding);
      expect(answer.headers.etag).toMatch(/^"[^"]+"$/);
      expect((await ask(path, coding)).headers.etag).toBe(answer.headers.etag);
      tags.set(codingOf(answer), String(answer.headers.etag));
    }
    expect(new Set(tags.values()).size).toBe(tags.size);
  });

  test('every coding holds the same text', async () => {
    const plain = await ask(path, 'identity');
    for (const coding of ['br', 'zstd', 'gzip']) {
      const answer = await ask(path, coding);
      expect(DECODE[codingOf(answer)]?.(answer.bytes).toString('utf8')).toBe(plain.text);
      expect(answer.headers['content-length']).toBe(String(answer.bytes.length));
    }
  });

  test('If-None-Match gives 304 with the same caching headers and no body', async () => {
    const fresh = await ask(path, 'gzip');
    const tag = String(fresh.headers.etag);
    for (const header of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const answer = await ask(path, 'gzip', undefined, { 'if-none-match': header });
      expect(answer.status).toBe(304);
      expect(answer.bytes).toHaveLength(0);
      for (const name of ['etag', 'cache-control', 'vary', 'x-snapshot']) {
        expect(answer.headers[name]).toBe(fresh.headers[name]);
      }
      expect(answer.headers['x-request-id']).toBeDefined();
    }
  });

  test('another tag, or the tag of another coding, gives 200', async () => {
    const other = String((await ask(path, 'br')).headers.etag);
    const plain = await ask(path, 'identity', undefined, { 'if-none-match': '"other"' });
    expect(plain.status).toBe(200);
    if (plain.headers.etag !== other) {
      expect((await ask(path, 'identity', undefined, { 'if-none-match': other })).status).toBe(200);
    }
  });

  test('Vary: Accept-Encoding, Authorization', async () => {
    expect((await ask(path, null)).headers.vary).toBe('Accept-Encoding, Authorization');
  });

  test('with a key: the same tag and bytes, private, and 304 too', async () => {
    const open = await ask(path, 'br');
    const keyed = await ask(path, 'br', owner.key);
    expect(keyed.bytes.equals(open.bytes)).toBe(true);
    expect(keyed.headers.etag).toBe(open.headers.etag);
    const again = await ask(path, 'br', owner.key, { 'if-none-match': String(open.headers.etag) });
    expect(again.status).toBe(304);
    expect(again.headers['cache-control']).toBe('private, no-store');
    expect(again.headers['x-ratelimit-limit']).toBeDefined();
  });
});

describe('Accept-Encoding by quality', () => {
  const cases: [string | null, string][] = [
    [null, 'identity'],
    ['', 'identity'],
    ['identity', 'identity'],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['zstd', 'zstd'],
    ['br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip, zstd', 'zstd'],
    ['gzip;q=1.0, br;q=0.5', 'gzip'],
    ['br;q=0.1, gzip;q=0.2, zstd;q=0.15', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0, gzip;q=0, zstd;q=0', 'identity'],
    ['*', 'br'],
    ['*;q=0', 'identity'],
    ['identity;q=0', 'identity'], // nothing else was allowed: a readable answer beats a refusal
    ['identity;q=0, *', 'br'],
    ['gzip;q=0.5, identity', 'identity'],
    ['gzip;q=0.5, *;q=0.9', 'br'],
    ['br;q=0, *', 'zstd'],
    ['deflate, compress', 'identity'],
    ['br ; q=0.8 , gzip ;q=0.9', 'gzip'],
    ['br;q=oops', 'identity'],
    ['br;q=2', 'identity'],
    [',,,', 'identity'],
    ['br;level=4', 'br'],
  ];
  test.each(cases)('%j gives %s', async (accept, coding) => {
    expect(codingOf(await ask('/v1/countries', accept))).toBe(coding);
  });

  test.each(['br', 'zstd', 'gzip'])('compresses a long keyed answer: %s', async (coding) => {
    for (const path of [
      '/v1/data?indicator=beta.long_series',
      '/v1/data?indicator=beta.long_series&format=csv',
    ]) {
      const plain = await ask(path, 'identity', owner.key);
      const coded = await ask(path, coding, owner.key);
      expect(codingOf(coded)).toBe(coding);
      expect(DECODE[coding]?.(coded.bytes).equals(plain.bytes)).toBe(true);
      expect(coded.bytes.length).toBeLessThan(plain.bytes.length / 2);
    }
  });

  test.each(['br', 'zstd', 'gzip'])('compresses a medium keyed answer: %s', async (coding) => {
    const path = '/v1/data?indicator=beta.long_series&countries=KEN&from=1900&to=1950';
    const plain = await ask(path, null, owner.key);
    const coded = await ask(path, coding, owner.key);
    expect(codingOf(coded)).toBe(coding);
    expect(DECODE[coding]?.(coded.bytes).equals(plain.bytes)).toBe(true);
  });

  test('does not compress a short answer', async () => {
    expect(codingOf(await ask('/v1/ping', 'br', owner.key))).toBe('identity');
  });
});

const MADE_FOR_A_CALL = KEYED_ROUTES.filter(({ isFile }) => !isFile);
test.each(MADE_FOR_A_CALL)('$template has no ETag and ignores If-None-Match', async ({ path }) => {
  const answer = await ask(path, null, owner.key, { 'if-none-match': '*' });
  expect(answer.status).toBe(200);
  expect(answer.headers).not.toHaveProperty('etag');
});

test('gives equal bytes to equal requests, whatever the order and encoding of parameters', async () => {
  const one = await ask('/v1/indicators?featured=1&topic=health', null);
  const other = await ask('/v1/indicators?topic=health&featured=TRUE&unknown=x', null);
  expect(other.text).toBe(one.text);
  expect(other.headers.etag).toBe(one.headers.etag);
});
