/** What may be sent to `/mcp` at once, what it counts for, and that each message is answered. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { LOAD_LIMITS, LoadShedder, slowClients } from '../../../../gateway/api/http/server/overload.ts';
import { silentLog } from '../../../redis.ts';
import { Service, type ServiceOptions, type TestKey, useService } from '../../service.ts';
import { send } from './mcp-client.ts';

const BATCHES = '2025-03-26';
const JSON_RPC = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const FIGURE = { indicators: ['alpha.life_expectancy'], countries: ['Kenya'] };

const service = await useService();

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

/** For one test. */
async function start(options: ServiceOptions): Promise<Service> {
  const other = await Service.start(options);
  stops.push(() => other.stop());
  return other;
}

const request = (id: unknown, method: string, params: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
const figure = (id: unknown) => request(id, 'tools/call', { name: 'get_data', arguments: FIGURE });

interface PostOptions {
  key?: TestKey;
  revision?: string | null;
  headers?: Record<string, string>;
}

/** Sends a body as it is, by default in the revision that has batches. */
async function post(
  service: Service,
  sent: unknown,
  { key, revision = BATCHES, headers: more = {} }: PostOptions = {},
) {
  const headers = {
    ...JSON_RPC,
    ...(revision !== null && { 'mcp-protocol-version': revision }),
    ...(key && { authorization: `Bearer ${key.key}` }),
    ...more,
  };
  const body = typeof sent === 'string' ? sent : JSON.stringify(sent);
  const { status, headers: got, text } = await service.get('/mcp', { method: 'POST', body, headers });
  const events = [...text.matchAll(/^data: (.+)$/gm)].map(([, data = '']) => JSON.parse(data));
  const isEvents = String(got['content-type']).startsWith('text/event-stream');
  const error = isEvents || text === '' ? undefined : JSON.parse(text).error;
  return { status, headers: got, answers: events, error };
}

describe('a batch', () => {
  test('that cancels its own call is answered, and charged for what it answers', async () => {
    const key = await service.account();
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
    const { status, answers } = await post(service, [figure(1), cancel], { key });
    expect([status, answers.map(({ id }) => id)]).toEqual([200, [1]]);
    expect(answers[0].result.structuredContent.credits).toEqual({ charged: 1, balance: 999 });
    expect(await service.balance(key)).toBe(999);
  });

  test('of three calls with one id gets three answers, each charged once', async () => {
    const key = await service.account();
    const { answers } = await post(service, [figure('a'), figure('a'), figure('a')], { key });
    expect(answers.map(({ id, result }) => [id, result.structuredContent.outcome])).toEqual(
      Array.from({ length: 3 }, () => ['a', 'answer']),
    );
    expect(await service.balance(key)).toBe(997);
  });

  test.each(['2024-11-05', '2025-06-18', '2025-11-25', '2026-07-28'])(
    'is refused in revision %s, which has none',
    async (revision) => {
      const key = await service.account();
      const { status, error } = await post(service, [figure(1)], { key, revision });
      expect([status, error]).toEqual([
        400,
        { code: -32600, message: expect.stringContaining('Only revision 2025-03-26 has batches') },
      ]);
      expect(await service.balance(key)).toBe(1000);
    },
  );

  test.each([BATCHES, null])('has at most 20 messages in revision %s', async (revision) => {
    const pings = Array.from({ length: 20 }, (_, id) => request(id, 'ping'));
    const { answers } = await post(service, pings, { revision });
    expect(answers.map(({ id, result }) => [id, result])).toEqual(pings.map(({ id }) => [id, {}]));
    const { status, error } = await post(service, [...pings, request(20, 'ping')], { revision });
    expect([status, error.code]).toEqual([400, -32600]);
  });

  test('holds no batches, and something', async () => {
    expect((await post(service, [[request(1, 'ping')]])).error.code).toBe(-32600);
    expect((await post(service, [])).error.code).toBe(-32600);
  });

  test('of notifications alone is accepted, as one of them is', async () => {
    const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
    for (const sent of [notification, [notification, notification]]) {
      const { status, headers } = await post(service, sent);
      expect([status, headers['content-length']]).toEqual([202, '0']);
    }
  });

  test('has an error beside the other answers for what is no message', async () => {
    const { answers } = await post(service, [request(1, 'ping'), 5]);
    expect(answers).toMatchObject([
      { id: 1, result: {} },
      { id: null, error: {} },
    ]);
  });
});

/** Of every kind; the last three call a tool without success. */
const MESSAGES = [
  request(1, 'initialize', {
    protocolVersion: BATCHES,
    capabilities: {},
    clientInfo: { name: 'a', version: '1' },
  }),
  { jsonrpc: '2.0', method: 'notifications/initialized' },
  request(2, 'ping'),
  request(3, 'tools/list'),
  request(4, 'prompts/list'),
  request(5, 'resources/list'),
  request(6, 'resources/templates/list'),
  request(7, 'prompts/get', { name: 'none' }),
  request(8, 'none'),
  request(9, 'resources/read', { uri: 'almanac://none' }),
  request(10, 'completion/complete', {
    ref: { type: 'ref/prompt', name: 'cite' },
    argument: { name: 'none', value: '' },
  }),
  { jsonrpc: '2.0', id: 11, result: {} },
  5,
  request(12, 'tools/call', { name: 'find_indicators', arguments: { query: 'life' } }),
  request(13, 'tools/call', { name: 'none' }),
  request(14, 'tools/call', { name: 'find_indicators', arguments: 5 }),
  figure(15),
];

describe('every message of a batch counts', () => {
  const refused = {
    status: 429,
    headers: expect.objectContaining({ 'retry-after': '40' }),
    error: { code: -32000, message: expect.any(String), data: { code: 'rate_limited', retry_after_s: 40 } },
    answers: [],
  };

  test.each([
    ['without a key', {}],
    ['with a key that is none', { headers: { authorization: 'Bearer alm_live_none' } }],
  ])('in the window of its address: %s', async (_name, options) => {
    const limited = await start({ settings: { ANONYMOUS_PER_MINUTE: String(MESSAGES.length + 1) } });
    await post(limited, MESSAGES, options);
    expect((await limited.get('/v1/topics')).status).toBe(200);
    expect((await limited.get('/v1/topics')).status).toBe(429);
    expect(await post(limited, [request(1, 'tools/list'), request(2, 'ping')], options)).toEqual(refused);
    expect(await post(limited, request(1, 'tools/list'), options)).toEqual(refused);
    expect((await send(limited, 'prompts/list')).body).toEqual({
      jsonrpc: '2.0',
      id: expect.anything(),
      error: refused.error,
    });
  });

  test('in the windows of its key', async () => {
    const limited = await start({ settings: { FREE_PER_MINUTE: String(MESSAGES.length + 1) } });
    const key = await limited.account();
    const { answers } = await post(limited, MESSAGES, { key });
    expect(answers.at(-1).result.structuredContent.credits.charged).toBe(1);
    const { status, headers } = await limited.get('/v1/ping', { key: key.key });
    expect([status, headers['x-ratelimit-remaining']]).toEqual([200, '0']);
    expect(await post(limited, request(1, 'tools/list'), { key })).toEqual(refused);
    limited.clock.ms += 60_000;
    const { json } = await limited.get('/v1/usage', { key: key.key });
    expect(json.data.endpoints).toContainEqual(
      expect.objectContaining({ route: 'mcp:message', requests: MESSAGES.length - 2, errors: 1, credits: 0 }),
    );
  });
});

test.each([
  ['tools/list', 'tools'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resourceTemplates'],
  ['prompts/list', 'prompts'],
])('%s is sent from a text that is written once', async (method, list) => {
  const [first] = (await post(service, request(1, method))).answers;
  const stringify = vi.spyOn(JSON, 'stringify');
  stops.push(() => stringify.mockRestore());
  const [second] = (await post(service, request(2, method))).answers;
  const written = stringify.mock.results.map(({ value }) => String(value));
  expect(written.filter((text) => text.includes(`"${list}":[{`) || text.startsWith('[{'))).toEqual([]);
  expect(second.result[list].length).toBeGreaterThan(0);
  expect(second).toEqual({ ...first, id: 2 });
  const newest = (await send(service, method)).body.result;
  expect(newest[list]).toEqual(first.result[list]);
});

describe('JSON', () => {
  const nested = (levels: number, [open, close]: [string, string]) => {
    const inner = levels - 2;
    const value = `${open.repeat(inner)}1${close.repeat(inner)}`;
    return `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${value}}}`;
  };

  test.each<[string, [string, string]]>([
    ['arrays', ['[', ']']],
    ['objects', ['{"a":', '}']],
  ])('nests at most 32 levels deep: %s', async (_name, pair) => {
    expect((await post(service, nested(32, pair))).answers).toMatchObject([{ id: 1, result: {} }]);
    const { status, error } = await post(service, nested(33, pair));
    expect([status, error]).toEqual([400, { code: -32600, message: expect.stringContaining('32 levels') }]);
  });

  test('is measured by its brackets, not by those in its texts', async () => {
    const params = { a: `\\"${'['.repeat(40)}`, b: ['}'.repeat(40), '\\'] };
    expect((await post(service, request(1, 'ping', params))).answers).toMatchObject([{ id: 1, result: {} }]);
  });

  test('has at most 10,000 values', async () => {
    const of = (values: number) => request(1, 'ping', { a: Array.from({ length: values - 3 }, () => 1) });
    expect((await post(service, of(10_000))).answers).toMatchObject([{ id: 1, result: {} }]);
    const { status, error } = await post(service, of(10_001));
    expect([status, error.code]).toEqual([400, -32600]);
  });

  test('of more than 256 KB is refused', async () => {
    const { status, error } = await post(service, `"${'x'.repeat(256 * 1024)}"`);
    expect([status, error]).toEqual([413, { code: -32600, message: expect.stringContaining('256 KB') }]);
  });
});

const bytesOf = (message: unknown, ...headers: string[]): string => {
  const body = JSON.stringify(message);
  const types = Object.entries(JSON_RPC).map(([name, value]) => `${name}: ${value}`);
  const lines = [
    'POST /mcp HTTP/1.1',
    'Host: localhost',
    `Content-Length: ${body.length}`,
    ...types,
    ...headers,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
};

async function open(service: Service, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port: service.port, host: '127.0.0.1', localAddress }).setEncoding('latin1');
  stops.push(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** The head of the answer to one request. */
async function ask(socket: Socket, ...headers: string[]): Promise<string> {
  socket.write(bytesOf(request(1, 'ping'), ...headers));
  const [head] = await once(socket, 'data');
  return head;
}

const CONNECTIONS_MAX = 256;
const REFUSED = /^HTTP\/1\.1 429 .*^retry-after: 5\r\n/ims;

test('the open connections of an address are bounded, idle ones among them', async () => {
  const limited = await start({});
  const [first, ...others] = await Promise.all(
    Array.from({ length: CONNECTIONS_MAX }, async () => {
      const socket = await open(limited);
      expect(await ask(socket)).toMatch(/^HTTP\/1\.1 200 /);
      return socket;
    }),
  );
  expect(others).toHaveLength(CONNECTIONS_MAX - 1);
  const next = await open(limited);
  expect(await ask(next)).toMatch(REFUSED);
  expect(await ask(await open(limited, '127.0.0.2'))).toMatch(/^HTTP\/1\.1 200 /);
  first?.destroy();
  while (!(await ask(next)).startsWith('HTTP/1.1 200 ')) await nextTurn();
});

test('behind a proxy only those are counted that wait for an answer', async () => {
  const limited = await start({ settings: { TRUST_PROXY: '127.0.0.1' } });
  for (let asked = 0; asked <= CONNECTIONS_MAX; asked += 1)
    expect(await ask(await open(limited), 'X-Forwarded-For: 192.0.2.1')).toMatch(/^HTTP\/1\.1 200 /);
  const begun = bytesOf(request(1, 'ping'), 'X-Forwarded-For: 192.0.2.1').slice(0, -1);
  for (let asked = 0; asked < CONNECTIONS_MAX; asked += 1) (await open(limited)).write(begun);
  const probe = await open(limited);
  while (!REFUSED.test(await ask(probe, 'X-Forwarded-For: 192.0.2.1'))) await nextTurn();
  expect(await ask(await open(limited), 'X-Forwarded-For: 192.0.2.2')).toMatch(/^HTTP\/1\.1 200 /);
});

test('an answer that nobody reads is no load, and is watched like any other', async () => {
  const loadShedder = new LoadShedder(LOAD_LIMITS, silentLog);
  const limited = await start({ loadShedder });
  const socket = (await open(limited)).pause();
  const lists = bytesOf(request(1, 'tools/list')).repeat(100);
  while (slowClients.bytes < 1_000_000) {
    if (!socket.writableNeedDrain) socket.write(lists);
    await nextTurn();
  }
  while (loadShedder.inFlight > 0) await nextTurn();
  expect(slowClients.bytes).toBeGreaterThan(0);
  socket.destroy();
  while (slowClients.bytes > 0) await nextTurn();
});
