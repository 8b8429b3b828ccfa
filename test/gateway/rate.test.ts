/** "Limits": rate windows per address and per account, and what a caller is told of them. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { FREE_ROUTES } from './public-routes.ts';
import { codeOf, NOON, Service, useService } from './service.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

let minutes = 0;
const settings = {
  ANONYMOUS_PER_MINUTE: '3',
  ANONYMOUS_PER_DAY: '1000',
  FREE_PER_MINUTE: '5',
  FREE_PER_DAY: '7',
  TRUST_PROXY: '127.0.0.1',
};
const service = await useService({ settings });
// A window of its own for each test.
beforeEach(() => {
  minutes += 1;
  service.clock.ms = NOON + minutes * MINUTE_MS;
});

const from = (address: string, path = '/v1/topics') =>
  service.get(path, { headers: { 'x-forwarded-for': address } });

describe('the fields of the IETF draft', () => {
  /** Structured fields (RFC 9651): a list of strings with integer parameters. */
  const parse = (field: unknown) =>
    String(field)
      .split(', ')
      .map((item) => {
        const [name = '', ...parameters] = item.split(';');
        const pairs = parameters.map((parameter) => parameter.split('='));
        return [JSON.parse(name), Object.fromEntries(pairs.map(([key, value]) => [key, Number(value)]))];
      });

  test('state both windows, on refusals too', async () => {
    const { key } = await service.account();
    const dayEnds_s = (Math.ceil(service.clock.ms / DAY_MS) * DAY_MS - service.clock.ms) / 1000;
    for (const left of [4, 3, 2, 1, 0, 0]) {
      const { status, headers } = await service.get('/v1/ping', { key });
      expect(status).toBe(left === 0 && headers['retry-after'] !== undefined ? 429 : 200);
      expect(parse(headers['ratelimit-policy'])).toEqual([
        ['minute', { q: 5, w: 60 }],
        ['day', { q: 7, w: 86_400 }],
      ]);
      expect(parse(headers.ratelimit)).toEqual([
        ['minute', { r: left, t: 40 }],
        ['day', { r: left + 2, t: dayEnds_s }],
      ]);
    }
  });

  test('are withheld from anonymous answers', async () => {
    const { headers } = await from('192.0.2.77');
    expect(headers).not.toHaveProperty('ratelimit');
    expect(headers).not.toHaveProperty('ratelimit-policy');
  });
});

describe('without a key', () => {
  test('the anonymous limit counts per address over all free routes, then 429 with Retry-After', async () => {
    for (const { path } of FREE_ROUTES.slice(0, 3)) expect((await from('192.0.2.1', path)).status).toBe(200);
    for (const { path } of FREE_ROUTES) {
      const answer = await from('192.0.2.1', path);
      expect(answer.status).toBe(429);
      expect(codeOf(answer)).toBe('rate_limited');
      expect(answer.headers['retry-after']).toBe('40');
      expect(answer.headers).not.toHaveProperty('x-ratelimit-limit');
      expect(answer.headers['cache-control']).toBe('no-store');
    }
    expect((await from('192.0.2.2')).status).toBe(200);
  });

  test('304 and 422 answers count as well', async () => {
    const { headers } = await from('192.0.2.4');
    const again = { 'x-forwarded-for': '192.0.2.4', 'if-none-match': String(headers.etag) };
    expect((await service.get('/v1/topics', { headers: again })).status).toBe(304);
    expect((await from('192.0.2.4', '/v1/indicators?limit=0')).status).toBe(422);
    expect((await from('192.0.2.4')).status).toBe(429);
  });

  test('a request without the key that its route needs is not counted', async () => {
    for (let call = 0; call < 5; call += 1) expect((await from('192.0.2.5', '/v1/ping')).status).toBe(401);
    expect((await from('192.0.2.5')).status).toBe(200);
  });
});

describe('with a key', () => {
  test('limit, remaining and reset of the window that is nearer to running out', async () => {
    const { key } = await service.account();
    const first = await service.get('/v1/ping', { key });
    expect(first.headers['x-ratelimit-limit']).toBe('5');
    expect(first.headers['x-ratelimit-remaining']).toBe('4');
    expect(Number(first.headers['x-ratelimit-reset'])).toBe((NOON + minutes * MINUTE_MS + 40_000) / 1000);
    for (let call = 0; call < 2; call += 1) await service.get('/v1/topics', { key });
    service.clock.ms += MINUTE_MS;
    const day = await service.get('/v1/ping', { key });
    expect(day.headers['x-ratelimit-limit']).toBe('7');
    expect(day.headers['x-ratelimit-remaining']).toBe('3');
    expect(Number(day.headers['x-ratelimit-reset']) % 86_400).toBe(0);
  });

  test('free routes count; beyond the limit 429 with Retry-After and the headers, free', async () => {
    const owner = await service.account({ credits: 10 });
    for (let call = 0; call < 5; call += 1) await service.get('/v1/countries', { key: owner.key });
    for (let call = 0; call < 2; call += 1) {
      const answer = await service.get('/v1/countries/KEN', { key: owner.key });
      expect(answer.status).toBe(429);
      expect(answer.headers['retry-after']).toBe('40');
      expect(answer.headers['x-ratelimit-remaining']).toBe('0');
      expect(answer.headers['x-credits-charged']).toBe('0');
      expect(answer.headers['x-credits-remaining']).toBe('10');
    }
    expect(await service.balance(owner)).toBe(10);
    service.clock.ms += 40_000;
    expect((await service.get('/v1/countries/KEN', { key: owner.key })).status).toBe(200);
  });

  test('refuses a key known to be over its window before any query runs', async () => {
    const { key } = await service.account();
    const path = '/v1/data?indicator=alpha.life_expectancy';
    for (let call = 0; call < 6; call += 1) await service.get(path, { key });
    const observations = service.snapshots.current()?.observations;
    if (!observations) throw new Error('no snapshot');
    const rows = vi.spyOn(observations, 'select');
    expect((await service.get(path, { key })).status).toBe(429);
    expect(rows).not.toHaveBeenCalled();
    rows.mockRestore();
    service.clock.ms += 40_000;
    expect((await service.get(path, { key })).status).toBe(200);
  });

  test('keys of one account share its windows', async () => {
    const first = await service.account();
    const second = await service.accounts.keys.mint(first.account_id);
    for (let call = 0; call < 5; call += 1) await service.get('/v1/ping', { key: first.key });
    expect((await service.get('/v1/ping', { key: second.key })).status).toBe(429);
  });

  test('a key is not limited by its address', async () => {
    for (let call = 0; call < 4; call += 1) await from('192.0.2.9');
    const { key } = await service.account();
    const headers = { 'x-forwarded-for': '192.0.2.9' };
    expect((await service.get('/v1/topics', { key, headers })).status).toBe(200);
  });
});

test('trusts forwarded headers only from configured proxies', async () => {
  await using direct = await Service.start({ settings: { ANONYMOUS_PER_MINUTE: '2' } });
  const forge = (address: string) =>
    direct.get('/v1/topics', { headers: { 'x-forwarded-for': address, forwarded: `for=${address}` } });
  expect((await forge('192.0.2.1')).status).toBe(200);
  expect((await forge('192.0.2.2')).status).toBe(200);
  expect((await forge('192.0.2.3')).status).toBe(429);
});
