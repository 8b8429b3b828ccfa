import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { createRequestIds } from '../../gateway/api/http/http.ts';
import { metricsServer } from '../../gateway/api/http/server/metrics.ts';
import { listen } from '../listen.ts';
import { PUBLIC_ROUTES } from './public-routes.ts';
import { type Answer, useService } from './service.ts';

let lines: Record<string, unknown>[] = [];
const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
const service = await useService({ log });
const owner = await service.account();
beforeEach(() => {
  lines = [];
});

/** The line is written when the answer has left, which may be after it has arrived. */
const linesOf = (sent: string) =>
  expect.poll(() => lines.filter(({ client_request_id }) => client_request_id === sent)).toHaveLength(1);

describe('the request log', () => {
  test.each(PUBLIC_ROUTES)(
    'one line with both ids, method, template, status, duration and key id: $template',
    async (route) => {
      const headers = { 'x-request-id': `log-${route.template.replaceAll(/\W/g, '-')}` };
      await service.get(route.path.replace('/v1', '/data/api/v1'), { key: owner.key, headers });
      await linesOf(headers['x-request-id']);
      expect(lines[0]).toMatchObject({
        level: 30,
        request_id: expect.stringMatching(/^test-\d+$/),
        client_request_id: headers['x-request-id'],
        method: 'GET',
        route: route.template,
        status: 200,
        key_id: owner.key_id,
      });
      expect(lines[0]?.duration_ms).toBeGreaterThan(0);
    },
  );

  test('a path, a query, a secret and a full key never reach it', async () => {
    const headers = { 'x-request-id': 'log-secret', cookie: 'session=hush' };
    await service.get('/v1/countries/KEN?topic=hush', { key: owner.key, headers });
    await linesOf('log-secret');
    const text = JSON.stringify(lines);
    expect(text).not.toContain('hush');
    expect(text).not.toContain(owner.key.slice(-40));
  });

  test('without a key there is no key id; what no route takes is logged without its path', async () => {
    await service.get('/v1/topics', { headers: { 'x-request-id': 'log-open' } });
    await linesOf('log-open');
    expect(lines[0]).not.toHaveProperty('key_id');
    await service.get('/v1/hush', { headers: { 'x-request-id': 'log-none' } });
    await linesOf('log-none');
    expect(JSON.stringify(lines)).not.toContain('hush');
    expect(lines.at(-1)).toMatchObject({ route: 'none', status: 404 });
  });
});

describe('the metrics', () => {
  test('count answers by template and status, credits, hot reads and the age of the data', async () => {
    const path = '/v1/data?indicator=alpha.life_expectancy&countries=KEN';
    for (let ask = 0; ask < 4; ask += 1) await service.get(path, { key: owner.key });
    await expect
      .poll(() => service.metrics.text())
      .toMatch(/requests_total\{route="\/v1\/data",status="200"\} [5-9]/);
    const text = await service.metrics.text();
    expect(text).toMatch(/almanac_credits_charged_total\{route="\/v1\/data"\} \d+/);
    expect(text).toMatch(/almanac_request_seconds_bucket\{le="0.0005",route="\/v1\/data",status="200"\} \d+/);
    expect(text).toMatch(/almanac_hot_cache_hits [1-9]/);
    expect(text).toMatch(/almanac_hot_cache_bytes [1-9]/);
    expect(text).toContain('almanac_snapshot_age_seconds 122420');
  });

  test('are served on a port of their own, at /metrics alone', async () => {
    await using server = await listen(metricsServer(service.metrics));
    const { url } = server;
    const answer = await fetch(`${url}/metrics`);
    expect(answer.headers.get('content-type')).toContain('text/plain; version=0.0.4');
    expect(await answer.text()).toContain('process_resident_memory_bytes');
    expect((await fetch(`${url}/`)).status).toBe(404);
    expect((await service.get('/metrics')).status).toBe(404);
  });
});

test('/healthz and /readyz are never cached', async () => {
  for (const path of ['/healthz', '/readyz']) {
    const answer = await service.get(path);
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers['x-request-id']).toBeDefined();
  }
});

const OWN = /^test-\d+$/;
const PATH = '/v1/countries/KEN';
const ask = (id: string | null, path = PATH): Promise<Answer> =>
  service.get(path, { key: owner.key, ...(id !== null && { headers: { 'x-request-id': id } }) });

/** Request ids of the debits, newest first. */
async function debits(): Promise<unknown[]> {
  const entries = await service.accounts.ledger(owner.account_id, { limit: 100 });
  return entries.flatMap(({ kind, cause }) =>
    kind === 'debit' && 'request_id' in cause ? [cause.request_id] : [],
  );
}

test("a client's id comes back in X-Request-Id, and ours in X-Server-Request-Id", async () => {
  for (const id of ['mine', 'x'.repeat(64)]) {
    const { headers } = await ask(id);
    expect(headers['x-request-id']).toBe(id);
    expect(headers['x-server-request-id']).toMatch(OWN);
  }
});

test('ours are unique across processes, and safe to repeat', () => {
  const [one, other] = [createRequestIds(), createRequestIds()];
  const ids = Array.from({ length: 5_000 }, () => [one(), other()]).flat();
  expect(new Set(ids).size).toBe(10_000);
  for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
});

test('without one, or with one that is not safe to repeat, X-Request-Id is ours', async () => {
  for (const id of [null, 'two words', 'x'.repeat(65)]) {
    const { headers } = await ask(id);
    expect(headers['x-request-id']).toMatch(OWN);
    expect(headers).not.toHaveProperty('x-server-request-id');
  }
});

test('the ledger names each call by our id, however often a client repeats its own', async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask('the-same')));
  const ours = answers.map(({ headers }) => headers['x-server-request-id']);
  const latest = (await debits()).slice(0, ours.length);
  expect(new Set(latest)).toEqual(new Set(ours));
  expect(new Set(ours).size).toBe(ours.length);
});

test("a client cannot put another call's id into the ledger", async () => {
  const { headers } = await ask(null);
  const copied = await ask(String(headers['x-request-id']));
  expect(copied.headers['x-request-id']).toBe(headers['x-request-id']);
  const [second, first] = await debits();
  expect(first).toBe(headers['x-request-id']);
  expect(second).toBe(copied.headers['x-server-request-id']);
  expect(second).not.toBe(first);
});

test.each([
  '/v1/topics',
  PATH,
  '/v1/data?indicator=none.such',
  '/none',
  '/healthz',
  '/docs',
  '/openapi.json',
])('%s: a cached answer, an error and a page carry both, for one caller only', async (path) => {
  for (let call = 0; call < 3; call += 1) {
    const own = await service.get(path);
    expect(own.headers['x-request-id']).toMatch(OWN);
    expect(own.headers).not.toHaveProperty('x-server-request-id');
    const both = await service.get(path, { headers: { 'x-request-id': `mine-${call}` } });
    expect(both.headers['x-request-id']).toBe(`mine-${call}`);
    expect(both.headers['x-server-request-id']).toMatch(OWN);
  }
});
