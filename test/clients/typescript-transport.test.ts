/** Calls of the TypeScript client over a real connection, to a server that fails as the test says. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, expect, it } from 'vitest';
import {
  Almanac,
  ApiError,
  type ClientOptions,
  ConnectionFailed,
  UnexpectedAnswer,
} from '../../clients/typescript/src/index.ts';
import { type Listening, listen } from '../listen.ts';

type Step = (response: ServerResponse, request: IncomingMessage) => void;

const answer =
  (status: number, body: string, headers: Record<string, string> = {}): Step =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
const refusal = (status: number, code: string, headers: Record<string, string> = {}): Step =>
  answer(status, JSON.stringify({ error: { code, message: `It is ${code}.` } }), {
    'x-request-id': 'request-7',
    ...headers,
  });
const hangUp: Step = (response) => response.destroy();
const halfABody: Step = (response) => {
  response.writeHead(200, { 'content-length': '1000' });
  response.write('{"data":', () => response.destroy());
};
const chunksWithoutEnd: Step = (response) => {
  response.writeHead(200);
  response.write('{"data":[', () => response.destroy());
};
const RANKING = answer(200, '{"data":[{"rank":1}],"meta":{"generated_at":"2026-11-21T00:00:00Z"}}');

let server: Listening | undefined;
afterEach(() => server?.stop());

/** Plays its steps, one a request; the last one again and again. */
async function playing(steps: Step[], options: ClientOptions = {}) {
  const requests: IncomingMessage[] = [];
  const player = createServer((request, response) => {
    const step = steps[Math.min(requests.length, steps.length - 1)];
    requests.push(request);
    step?.(response, request);
  });
  await server?.stop();
  server = await listen(player);
  const time = { now: 0, waits: [] as number[] };
  let keys = 0;
  const surroundings = {
    fetch,
    now: () => time.now,
    sleep: async (ms: number) => {
      time.now += ms;
      time.waits.push(ms);
    },
    random: () => 0.5,
    idempotencyKey: () => {
      keys += 1;
      return `call-${keys}`;
    },
  };
  const baseUrl = `${server.url}/`;
  return { requests, time, client: new Almanac({ key: 'alm_key', baseUrl, ...options }, surroundings) };
}

it('repeats a failed call under one idempotency key, until it is answered', async () => {
  const failures = [hangUp, halfABody, chunksWithoutEnd, refusal(503, 'unavailable')];
  const { client, requests, time } = await playing([...failures, RANKING]);
  expect((await client.rank('a.b')).rows).toEqual([{ rank: 1 }]);
  expect(requests.map(({ headers }) => headers['idempotency-key'])).toEqual(Array(5).fill('call-1'));
  expect(new Set(requests.map(({ headers }) => headers.authorization))).toEqual(new Set(['Bearer alm_key']));
  expect(time.waits).toEqual([375, 750, 1500, 3000]);
  await client.rank('a.b');
  expect(requests.at(-1)?.headers['idempotency-key']).toBe('call-2');
});

it('sends free calls without an idempotency key', async () => {
  const { client, requests } = await playing([hangUp, answer(200, '{"data":[]}')]);
  expect(await client.editions()).toEqual([]);
  expect(requests.map(({ headers }) => headers['idempotency-key'])).toEqual([undefined, undefined]);
});

it('sends no key for public files, so that a page may read them', async () => {
  const { client, requests } = await playing([answer(200, '{}')]);
  await client.keysDocument();
  expect(requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
});

it.each([
  ['waits as long as the service says', { 'retry-after': '7' }, [7000]],
  ['but not longer than a minute', { 'retry-after': '61' }, []],
])('%s', async (_name, headers, waits) => {
  const { client, time } = await playing([refusal(429, 'rate_limited', headers), RANKING]);
  const result = await client.rank('a.b').catch((error: unknown) => error);
  expect(time.waits).toEqual(waits);
  if (waits.length === 0) expect(result).toMatchObject({ code: 'rate_limited', retryAfter: 61, status: 429 });
});

it('does not repeat a priced call when its repeat would be a new call', async () => {
  const { client, requests, time } = await playing([
    (...given) => {
      time.now += 600_000;
      hangUp(...given);
    },
  ]);
  await expect(client.rank('a.b')).rejects.toThrow(ConnectionFailed);
  expect(requests).toHaveLength(1);
  await expect(client.editions()).rejects.toThrow(ConnectionFailed);
  expect(requests).toHaveLength(6);
});

it.each([400, 401, 402, 403, 404, 422, 500])('does not repeat a refusal with status %i', async (status) => {
  const { client, requests } = await playing([refusal(status, 'none_such')]);
  const error = await client.rank('a.b').catch((one: unknown) => one);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({
    status,
    code: 'none_such',
    requestId: 'request-7',
    text: 'It is none_such.',
  });
  expect(String(error)).toBe(`ApiError: It is none_such. [${status} none_such] (request request-7)`);
  expect(requests).toHaveLength(1);
});

it('names the parameters at fault', async () => {
  const detail = [{ loc: ['query', 'latest'], msg: 'too small', type: 'greater_than_equal' }];
  const { client } = await playing([answer(422, JSON.stringify({ detail }))]);
  await expect(client.data('a.b', { latest: 0 })).rejects.toMatchObject({
    code: 'invalid_parameters',
    text: 'latest: too small',
    detail,
  });
});

it('names the places that may be meant', async () => {
  const candidates = [
    { iso3: 'COD', name: 'DR Congo' },
    { group: '@eu', name: 'European Union' },
  ];
  const detail = [
    { loc: ['query', 'countries', 1], msg: 'Which?', type: 'value_error', ctx: { candidates } },
  ];
  const { client } = await playing([answer(422, JSON.stringify({ detail }))]);
  await expect(client.data('a.b', { countries: 'Congo' })).rejects.toMatchObject({
    text: 'countries.1: Which? Candidates: DR Congo (COD), European Union (@eu)',
  });
});

it('carries the key to no other host', async () => {
  const { client, requests } = await playing([answer(302, '', { location: 'http://localhost:1/other' })]);
  await expect(client.rank('a.b')).rejects.toMatchObject({ code: 'redirected', status: 302 });
  expect(requests).toHaveLength(1);
});

it('gives up on a server that sends nothing', async () => {
  const begins: Step = (response) => response.writeHead(200).flushHeaders();
  for (const step of [() => {}, begins]) {
    const { client } = await playing([step], { timeoutMs: 20, retries: 0 });
    await expect(client.rank('a.b')).rejects.toThrow('sent nothing for 20 ms');
  }
});

it('does not repeat what would make a link twice', async () => {
  const { client, requests } = await playing([hangUp]);
  await expect(client.makeFeed('A', 'a.b', { monthlyCap: 1 })).rejects.toThrow(ConnectionFailed);
  expect(requests.map(({ method, url }) => [method, url])).toEqual([['POST', '/v1/feeds']]);
});

it('says why a service cannot be reached', async () => {
  const { client } = await playing([], { retries: 0 });
  await server?.stop();
  await expect(client.editions()).rejects.toThrow(/cannot be reached, or broke off: .*ECONNREFUSED/);
});

it('says that something else answered', async () => {
  const { client, requests } = await playing([answer(200, '<!doctype html>')]);
  await expect(client.rank('a.b')).rejects.toThrow(UnexpectedAnswer);
  expect(requests).toHaveLength(1);
  const { client: other } = await playing([answer(404, '<!doctype html>')]);
  await expect(other.rank('a.b')).rejects.toMatchObject({ code: 'unknown', status: 404 });
});

it.each([
  [{ retries: 6 }, 'retries must be 0 to 5'],
  [{ baseUrl: 'almanac.example' }, 'baseUrl must start with http'],
  [{ timeoutMs: 0 }, 'timeoutMs must be more than 0'],
  [{ maxCredits: 1.5 }, 'maxCredits must be whole numbers'],
])('refuses %j before anything is sent', (options, message) => {
  expect(() => new Almanac(options)).toThrow(message);
});

it('refuses wrong parameters before anything is sent', async () => {
  const { client, requests } = await playing([RANKING]);
  await expect(client.data([])).rejects.toThrow('indicator must be a text');
  await expect(client.data('a.b', { countries: [''] })).rejects.toThrow('countries must be');
  await expect(client.data('a.b', { years: 2000.5 })).rejects.toThrow('years must be whole');
  await expect(client.rank('a.b', { asOf: new Date('x') })).rejects.toThrow('asOf must be a valid date');
  await expect(client.verify(['a,b,1,1', 'a,b,2,1'], { maxCredits: 1 })).rejects.toThrow('2 claims cost 2');
  const broad = { layout: 'broad' } as unknown as { layout: 'wide' };
  await expect(client.data('a.b', broad)).rejects.toThrow('layout must be one of long, wide, not broad');
  expect(requests).toHaveLength(0);
});

it('holds all calls of a verb to one limit, also where a repeat does not say what was paid', async () => {
  const meta = '"meta":{"generated_at":"2026-11-21T00:00:00Z","indicator":"a.b"}';
  const rows = `{"data":[{"iso3":"KEN"},{"iso3":"DEU"}],${meta}}`;
  const repeated = answer(200, rows, { 'x-credits-charged': '0', 'idempotent-replayed': 'true' });
  const { client, requests } = await playing([
    hangUp,
    repeated,
    answer(200, rows, { 'x-credits-charged': '2' }),
  ]);
  const table = await client.revisions(['a.b', 'a.c', 'a.d'], { maxCredits: 9 });
  expect(requests.map(({ url }) => /max_credits=\d+/.exec(url ?? '')?.[0])).toEqual(
    [9, 9, 7, 5].map((left) => `max_credits=${left}`),
  );
  expect([table.length, table.price]).toEqual([6, null]);
});
