/** What a browser asks and needs before a page of another origin may call: preflights and exposed headers. */
import { describe, expect, test } from 'vitest';
import { PUBLIC_ROUTES } from './public-routes.ts';
import { useService } from './service.ts';

const service = await useService({ settings: { ANONYMOUS_PER_MINUTE: '2' } });

const PREFLIGHT = { origin: 'https://page.example', 'access-control-request-method': 'GET' };
const options = (path: string, headers: Record<string, string>) =>
  service.get(path, { method: 'OPTIONS', headers });
const listOf = (value: unknown): string[] => String(value).toLowerCase().split(', ');

describe.each(PUBLIC_ROUTES)('a preflight of $template', ({ path, isFile }) => {
  test('is allowed to send what a call can carry, under both prefixes', async () => {
    for (const url of [path, path.replace('/v1', '/data/api/v1')]) {
      const { status, headers, bytes } = await options(url, {
        ...PREFLIGHT,
        'access-control-request-headers': 'authorization,if-none-match',
      });
      expect([status, bytes.length]).toEqual([204, 0]);
      expect(headers['access-control-allow-origin']).toBe('*');
      expect(headers['access-control-allow-methods']).toBe('GET');
      expect(listOf(headers['access-control-allow-headers'])).toEqual([
        ...[
          'authorization',
          'if-none-match',
          'idempotency-key',
          'prefer',
          'x-request-id',
          'range',
          'if-range',
        ],
      ]);
      expect(Number(headers['access-control-max-age'])).toBeGreaterThan(3_600);
    }
  });

  test('is one only with an origin and a method: any other OPTIONS is 405', async () => {
    const { origin, ...method } = PREFLIGHT;
    for (const headers of [{}, { origin }, method]) {
      const answer = await options(path, headers);
      expect([answer.status, answer.headers.allow]).toEqual([405, isFile ? 'GET, HEAD' : 'GET']);
    }
  });
});

test.each(['/.well-known/almanac-keys.json', '/v1/log/checkpoint', '/openapi.json', '/status.json'])(
  '%s may be fetched with a key',
  async (path) => {
    const { status, headers } = await options(path, {
      ...PREFLIGHT,
      'access-control-request-headers': 'authorization',
    });
    expect(status).toBe(204);
    expect(listOf(headers['access-control-allow-headers'])).toContain('authorization');
  },
);

test('a preflight counts against no window, and elsewhere there is none', async () => {
  for (let time = 0; time < 10; time += 1) expect((await options('/v1/topics', PREFLIGHT)).status).toBe(204);
  expect((await service.get('/v1/topics')).status).toBe(200);
  expect((await options('/v1/nothing', PREFLIGHT)).status).toBe(404);
});

test('a script may read every header of ours', async () => {
  const { key } = await service.account();
  const paths = [
    '/v1/ping',
    '/v1/topics',
    '/v1/data?indicator=alpha.life_expectancy&format=csv',
    '/v1/countries/ZZZ',
  ];
  const answers = await Promise.all([
    ...paths.map((path) => service.get(path, { key, headers: { 'idempotency-key': 'k' } })),
    service.get('/v1/topics?a=1', { key, headers: { 'x-request-id': 'mine' } }),
    service.get('/v1/topics', { key, headers: { prefer: 'handling=strict' } }),
    service.get('/v1/ping', { key: 'nonsense' }),
  ]);
  const standard = [
    'date',
    'connection',
    'keep-alive',
    'vary',
    'transfer-encoding',
    'x-content-type-options',
  ];
  // The Fetch standard lets every script read these.
  const safelisted = ['cache-control', 'content-type', 'content-length'];
  for (const { headers } of answers) {
    const exposed = [headers['access-control-expose-headers']].flat().flatMap(listOf);
    const ours = Object.keys(headers).filter(
      (name) => ![...standard, ...safelisted].includes(name) && !name.startsWith('access-control-'),
    );
    expect(ours.filter((name) => !exposed.includes(name))).toEqual([]);
  }
});

test('an answer without a key exposes no header of an account', async () => {
  const { headers } = await service.get('/v1/topics', { headers: { 'x-request-id': 'mine' } });
  expect(String(headers['access-control-expose-headers'])).not.toMatch(/x-credits/i);
});
