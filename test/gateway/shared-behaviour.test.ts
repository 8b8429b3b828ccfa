/** "Behaviour shared by every public route": one test for each numbered row, over every route. */
import { describe, expect, test } from 'vitest';
import { FIXTURE_TIME } from './fixture-snapshot.ts';
import { FREE_ROUTES, KEYED_ROUTES, PUBLIC_ROUTES } from './public-routes.ts';
import { codeOf, useService } from './service.ts';

const OTHER_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND'];
const KEYED_HEADERS = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-credits-charged',
  'x-credits-remaining',
];

const service = await useService();
const owner = await service.account();

/** A request that the route answers with 200. */
const good = (path: string, key: 'optional' | 'required') =>
  service.get(path, key === 'required' ? { key: owner.key } : {});

const ENVELOPES = PUBLIC_ROUTES.filter(({ isDocument }) => !isDocument);

describe.each(ENVELOPES)('GET $template', ({ template, path, key }) => {
  test('2. a success is { data, meta }', async () => {
    const answer = await good(path, key);
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.json)).toEqual(['data', 'meta']);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  test('3. meta.generated_at is the time of the snapshot, or now on ping and usage', async () => {
    const { json } = await good(path, key);
    const live = ['/v1/ping', '/v1/usage'].includes(template);
    expect(json.meta.generated_at).toBe(live ? '2026-11-21T12:00:20+00:00' : FIXTURE_TIME);
  });

  test('4. meta holds no filter that was not sent', async () => {
    const { json } = await good(path, key);
    expect(Object.values(json.meta)).not.toContain(null);
    expect(json.meta).not.toHaveProperty('countries');
    expect(json.meta).not.toHaveProperty('featured');
  });
});

describe.each(PUBLIC_ROUTES)('GET $template', ({ template, path, key, isFile }) => {
  const others = isFile ? OTHER_METHODS.filter((method) => method !== 'HEAD') : OTHER_METHODS;
  test.each(others)('1. %s gives 405 method_not_allowed with Allow', async (method) => {
    const answer = await service.get(path, { method });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe(isFile ? 'GET, HEAD' : 'GET');
    expect(answer.headers['cache-control']).toBe('no-store');
    if (method !== 'HEAD') expect(codeOf(answer)).toBe('method_not_allowed');
  });

  test('1. a POST with a form or JSON body is 405 too, and the connection goes on', async () => {
    for (const type of ['application/x-www-form-urlencoded', 'application/json', 'text/plain', 'nonsense']) {
      const answer = await service.get(path, {
        method: 'POST',
        body: 'a=1',
        headers: { 'content-type': type },
      });
      expect(answer.status).toBe(405);
    }
    expect((await good(path, key)).status).toBe(200);
  });

  test('5. with a key: Cache-Control private, no-store', async () => {
    const answer = await service.get(path, { key: owner.key });
    expect(answer.headers['cache-control']).toBe('private, no-store');
  });

  test('5. on an error: Cache-Control no-store', async () => {
    const answer = await service.get(path, { headers: { authorization: 'Bearer nonsense' } });
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  test('6. the X-RateLimit and X-Credits headers are on authenticated answers, readable by other origins', async () => {
    const answer = await service.get(path, { key: owner.key });
    for (const name of KEYED_HEADERS) expect(answer.headers[name]).toMatch(/^\d+$/);
    const exposed = String(answer.headers['access-control-expose-headers']).toLowerCase().split(', ');
    expect(exposed).toEqual(expect.arrayContaining(KEYED_HEADERS));
    if (key === 'required') return;
    const { headers } = await good(path, key);
    expect(String(headers['access-control-expose-headers'])).not.toMatch(/x-credits/i);
  });

  test('7. X-Request-Id is on every answer', async () => {
    const kept = await service.get(path, { key: owner.key, headers: { 'x-request-id': 'My.id_1-2' } });
    expect(kept.headers['x-request-id']).toBe('My.id_1-2');
    for (const strange of ['a b', 'x'.repeat(65), 'é', '{}']) {
      const answer = await service.get(path, { headers: { 'x-request-id': strange } });
      expect(answer.headers['x-request-id']).toMatch(/^test-\d+$/);
    }
  });

  test('the same answer under /data/api/v1', async () => {
    const one = await good(path, key);
    const other = await good(path.replace('/v1', '/data/api/v1'), key);
    expect(other.status).toBe(200);
    if (!['/v1/ping', '/v1/usage'].includes(template)) expect(other.text).toBe(one.text);
  });

  test('Access-Control-Allow-Origin: * on successes and failures', async () => {
    expect((await good(path, key)).headers['access-control-allow-origin']).toBe('*');
    const failure = await service.get(path, { headers: { authorization: 'x' } });
    expect(failure.headers['access-control-allow-origin']).toBe('*');
  });

  test('X-Snapshot names the snapshot of an answer that comes from one', async () => {
    const answer = await good(path, key);
    const live = ['/v1/ping', '/v1/usage'].includes(template);
    expect(answer.headers['x-snapshot']).toBe(live ? undefined : service.snapshots.current()?.id);
  });
});

describe.each(FREE_ROUTES)('GET $template without a key', ({ path }) => {
  test('5. Cache-Control public, max-age=3600, s-maxage=21600', async () => {
    const answer = await service.get(path);
    expect(answer.headers['cache-control']).toBe('public, max-age=3600, s-maxage=21600');
  });

  test('6. no X-RateLimit and no X-Credits header', async () => {
    const answer = await service.get(path);
    for (const name of KEYED_HEADERS) expect(answer.headers).not.toHaveProperty(name);
  });

  test('is free with a key too', async () => {
    const before = await service.balance(owner);
    const answer = await service.get(path, { key: owner.key });
    expect(answer.headers['x-credits-charged']).toBe('0');
    expect(await service.balance(owner)).toBe(before);
  });
});

describe.each(KEYED_ROUTES)('GET $template', ({ path, price }) => {
  test(`costs ${price} credits`, async () => {
    // One without a lease.
    const caller = await service.account({ credits: 100 });
    const answer = await service.get(path, { key: caller.key });
    expect(answer.headers['x-credits-charged']).toBe(String(price));
    expect(answer.headers['x-credits-remaining']).toBe(String(100 - price));
    expect(await service.balance(caller)).toBe(100 - price);
  });
});

test('2. a failure is { error: { code, message } }', async () => {
  const answer = await service.get('/v1/indicators/none.such');
  expect(answer.json).toEqual({
    error: { code: 'indicator_not_found', message: "No indicator has the id 'none.such'." },
  });
});

test('8. missing measurements are null: never zero, never an absent row', async () => {
  const { json } = await service.get('/v1/data?indicator=alpha.life_expectancy&countries=DEU&from=2022', {
    key: owner.key,
  });
  expect(json.data).toEqual([
    { iso3: 'DEU', year: 2022, value: null, ci_lo: null, ci_hi: null, rank: null, projected: false },
  ]);
});

test('9. a filter that matches nothing gives 200 with an empty array', async () => {
  for (const path of [
    '/v1/countries?region=Atlantis',
    '/v1/indicators?topic=none',
    '/v1/indicators?q=zzzz',
  ]) {
    const answer = await service.get(path);
    expect(answer.status).toBe(200);
    expect(answer.json.data).toEqual([]);
    expect(answer.json.meta.count).toBe(0);
  }
});

test.each([
  '/',
  '/v1',
  '/v1/',
  '/v2/countries',
  '/v1/nothing',
  '/v1/data/x',
  '/V1/countries',
  '/v1/countries/KEN/x',
])('404 elsewhere: %s gives not_found', async (path) => {
  const answer = await service.get(path);
  if (path === '/') {
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    return;
  }
  expect(answer.status).toBe(404);
  expect(codeOf(answer)).toBe('not_found');
  expect(answer.headers['cache-control']).toBe('no-store');
  expect(answer.headers['x-request-id']).toBeDefined();
});
