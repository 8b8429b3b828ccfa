/** Input that means harm or nonsense: always a clear 4xx, never a 500, never a cost, and the service goes on. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { exchange } from '../../../attack/smuggling.ts';
import { codeOf, useService } from '../../service.ts';

const CREDITS = 1_000;
const service = await useService();
const owner = await service.account({ credits: CREDITS });
afterEach(async () => {
  expect(await service.balance(owner)).toBe(CREDITS);
});

const raw = (bytes: string | Buffer): Promise<string> => exchange(service.port, bytes);
/** Everything that comes back until the server closes the connection. */
const untilClosed = (bytes: string): Promise<string> => exchange(service.port, bytes, false);

const statusOf = (answer: string): number => Number(answer.slice(9, 12));
const expectNoInternals = (text: string): void => {
  expect(text).not.toMatch(/node_modules|\.ts\b|at [A-Z]\w+\.|read_parquet\(|FST_|Error:/);
};

const TEMPLATES = [
  (id: string) => `/v1/indicators/${id}`,
  (id: string) => `/v1/rankings/${id}`,
  (id: string) => `/v1/countries/${id}`,
  (id: string) => `/v1/data?indicator=${id}`,
];
const SQL = [
  "' OR '1'='1",
  "'; DROP TABLE rows; --",
  "x' UNION SELECT 1,2,3 --",
  "\") FROM read_text('/etc/passwd') --",
  "alpha.life_expectancy'--",
  '$file',
  '?1',
];
const STRANGE = [
  'a'.repeat(10_000),
  '%F0%9F%92%A9',
  '%00',
  'a%00b',
  '%0d%0aX-Injected:%201',
  '..%2f..%2f..%2fetc%2fpasswd',
  '..%5c..%5cwindows',
  '%2e%2e%2f',
  '%252e%252e%252f',
  '.',
  '*',
  '%25',
  '%E2%80%AE',
  'constructor',
  '__proto__',
  'toString',
  'alpha.life_expectancy.parquet',
  '%7B%7D',
];

describe.each(TEMPLATES.map((path) => [path(':id'), path] as const))('%s', (_name, path) => {
  test.each([...SQL.map(encodeURIComponent), ...STRANGE])(
    'treats SQL and strange ids as unknown: %.40s',
    async (id) => {
      const answer = await service.get(path(id), { key: owner.key });
      expect(answer.status).toBe(404);
      expect(String(codeOf(answer))).toMatch(/_not_found$/);
      expect(answer.headers).not.toHaveProperty('x-injected');
      expect(answer.text.length).toBeLessThan(1_000);
      expectNoInternals(answer.text);
    },
  );

  test.each(['%', '%Z', '%ZZ', '%ff', '%C3%28', '%ED%A0%80', 'a%'])('not UTF-8: %s', async (id) => {
    const answer = await service.get(path(id), { key: owner.key });
    expect(answer.status).toBe(path('').includes('?') ? 422 : 400);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers['x-request-id']).toBeDefined();
    expectNoInternals(answer.text);
  });
});

describe('every parameter', () => {
  const PARAMETERS: [string, string[]][] = [
    ['/v1/countries', ['region', 'income_group']],
    ['/v1/countries/KEN?featured=x', ['topic']],
    [
      '/v1/indicators',
      ['q', 'topic', 'provider', 'featured', 'projections', 'sort', 'dir', 'limit', 'offset'],
    ],
    ['/v1/rankings/alpha.life_expectancy?year=x', ['year']],
    ['/v1/data?indicator=none.such', ['countries', 'from', 'to', 'format']],
    ['/v1/usage?days=x', ['days']],
  ];
  const each = PARAMETERS.flatMap(([path, names]) => names.map((name) => [path, name] as const));
  const VALUES = [
    ...SQL.map(encodeURIComponent),
    ...STRANGE,
    '-1',
    '9'.repeat(400),
    '1e308',
    'NaN',
    '%ff',
    '%',
  ];

  test.each(each)('%s with a hostile %s: 200 or a clear 4xx, never a cost', async (path, name) => {
    const glue = path.includes('?') ? '&' : '?';
    for (const value of VALUES) {
      const answer = await service.get(`${path}${glue}${name}=${value}`, { key: owner.key });
      expect(answer.status, value).toBeLessThan(500);
      expectNoInternals(answer.text);
    }
  });

  test.each(each)('%s with %s that is not UTF-8: 422 string_unicode', async (path, name) => {
    const glue = path.includes('?') ? '&' : '?';
    const answer = await service.get(`${path}${glue}${name}=%C3%28`, { key: owner.key });
    expect(answer.status).toBe(422);
    expect(answer.json.detail).toContainEqual({
      loc: ['query', name],
      msg: 'Input should be valid percent-encoded UTF-8',
      type: 'string_unicode',
    });
  });

  test('accepts a thousand parameters, and one repeated a thousand times', async () => {
    const many = Array.from({ length: 1_000 }, (_, at) => `p${at}=1`).join('&');
    expect((await service.get(`/v1/topics?${many}`)).status).toBe(200);
    expect((await service.get(`/v1/topics?&&${many}&`)).status).toBe(200);
    const same = Array.from({ length: 1_000 }, () => 'limit=x').join('&');
    expect((await service.get(`/v1/indicators?${same}`)).json.detail).toHaveLength(1);
  });

  test.each(['/v1/topics', '/v1/data', '/', '/none', '/healthz', '/v1/openapi.json', '/mcp'])(
    '%s with more than a thousand parameters is 400, which says so',
    async (path) => {
      for (const separator of ['?', '#']) {
        const text = await raw(`GET ${path}${separator}${'a&'.repeat(1_001)} HTTP/1.1\r\nHost: a\r\n\r\n`);
        expect(statusOf(text)).toBe(400);
        expect(text).toMatch(/"code":"bad_request","message":"A query may have at most 1000 parameters/);
      }
    },
  );

  test('treats names of object members as unknown parameters', async () => {
    const plain = (await service.get('/v1/topics')).text;
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '']) {
      expect((await service.get(`/v1/topics?${name}=1&${name}[x]=2`)).text).toBe(plain);
    }
  });
});

test.each([
  ['', 'Content-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}'],
  ['chunked ', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n'],
])('%sbodies on GET are ignored, and the connection stays usable', async (_kind, rest) => {
  const one = `GET /v1/topics HTTP/1.1\r\nHost: a\r\n${rest}`;
  expect((await raw(one + one)).match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
});

describe('malformed HTTP', () => {
  const get = (rest: string) => raw(`GET /v1/topics HTTP/1.1\r\n${rest}\r\n\r\n`);

  test.each([
    ['garbage', 'garbage\r\n\r\n', 400],
    ['a TLS startupBanner', Buffer.from([0x16, 0x03, 0x01, 0x02, 0, 1, 0, 1, 0xfc, 3, 3]), 400],
    ['an unknown method', 'FOO /v1/topics HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    [
      'raw bytes in the query',
      Buffer.from('GET /v1/indicators?q=Émissions HTTP/1.1\r\nHost: a\r\n\r\n'),
      400,
    ],
    ['a blank in the path', 'GET /v1/to pics HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    [
      'both lengths',
      'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
    ],
    ['two lengths', 'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n', 400],
    ['a negative length', 'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n', 400],
    ['a NUL in a header', 'GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n', 400],
    ['headers of 100 KB', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(100_000)}\r\n\r\n`, 431],
  ])('%s', async (_name, bytes, status) => {
    const text = await raw(bytes);
    expect(statusOf(text)).toBe(status);
    expect(text).toMatch(/Cache-Control: no-store/);
    expect(text).toMatch(/X-Request-Id: /);
    expect(text).toMatch(/\{"error":\{"code":"[a-z_]+","message":"/);
    expectNoInternals(text);
  });

  test('answers 431 to oversized headers instead of resetting the connection', async () => {
    const socket = connect(service.port, '127.0.0.1');
    let text = '';
    const failures: Error[] = [];
    socket.setEncoding('latin1').on('data', (piece) => {
      text += piece;
    });
    socket.on('error', (error) => failures.push(error));
    socket.write(`GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(8_000_000)}\r\n\r\n`);
    await once(socket, 'close');
    expect(statusOf(text)).toBe(431);
    expect(failures).toEqual([]);
  });

  test('two Authorization headers count as one credential at most', async () => {
    const text = await get(`Host: a\r\nAuthorization: Bearer x\r\nAuthorization: Bearer ${owner.key}`);
    expect(statusOf(text)).toBe(401);
  });

  test('an absolute URL in the request line reaches no other route', async () => {
    const text = await raw('GET http://other.example/v1/topics HTTP/1.1\r\nHost: a\r\n\r\n');
    expect([200, 404]).toContain(statusOf(text));
  });

  test('the service still answers afterwards', async () => {
    expect((await service.get('/v1/topics')).status).toBe(200);
    expect((await service.get('/v1/ping', { key: owner.key })).status).toBe(200);
  });
});

describe('requests whose framing or authority is in doubt', () => {
  const TOPICS = 'GET /v1/topics HTTP/1.1\r\n';
  const paid = () =>
    `${'GET /v1/countries/KEN HTTP/1.1\r\nHost: a\r\n'}Authorization: Bearer ${owner.key}\r\n\r\n`;

  const BAD: [string, string][] = [
    ['no Host', `${TOPICS}\r\n`],
    ['two Hosts', `${TOPICS}Host: a\r\nHost: b\r\n\r\n`],
    ['the same Host twice', `${TOPICS}Host: a\r\nhOST: a\r\n\r\n`],
    ['two Hosts on HTTP/1.0', 'GET /v1/topics HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n'],
    ...[
      '',
      'a b',
      'a, b',
      'a/b',
      'http://a',
      'u@a',
      'a:b',
      'a:80:80',
      'a:99999',
      ':80',
      '[::1',
      '::1',
      'a?b',
      'ä',
    ].map((host): [string, string] => [`the Host ${JSON.stringify(host)}`, `${TOPICS}Host: ${host}\r\n\r\n`]),
    ...['xchunked', 'identity', 'gzip', 'gzip, chunked', 'chunked, chunked', '"chunked"', ''].map(
      (coding): [string, string] => [
        `the transfer coding ${JSON.stringify(coding)}`,
        `${TOPICS}Host: a\r\nTransfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n`,
      ],
    ),
    [
      'a transfer coding on HTTP/1.0',
      'GET /v1/topics HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
  ];

  test.each(BAD)('%s: 400 with a body, and the connection closes', async (_name, bytes) => {
    const text = await untilClosed(bytes + paid());
    expect(statusOf(text)).toBe(400);
    expect(text).toMatch(/^Connection: close\r$/m);
    expect(text).toMatch(/^x-request-id: \S/im);
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toMatchObject({ error: { code: 'bad_request' } });
  });

  test('also for a URL that is cached, on every route, and whatever the method', async () => {
    for (let call = 0; call < 3; call += 1) await service.get('/v1/topics');
    for (const line of [
      'GET /v1/topics',
      'GET /none',
      'POST /v1/topics',
      'GET /healthz',
      'HEAD /v1/topics',
    ]) {
      const text = await untilClosed(`${line} HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n`);
      expect(statusOf(text), line).toBe(400);
    }
  });

  test.each(['a', 'A.b-c_d', 'localhost:8080', '127.0.0.1:1', '[::1]', '[::1]:8080', 'a:', 'a.'])(
    'the Host %s is served',
    async (host) => {
      expect(statusOf(await raw(`${TOPICS}Host: ${host}\r\n\r\n`))).toBe(200);
    },
  );

  test('HTTP/1.0 needs no Host', async () => {
    expect(statusOf(await untilClosed('GET /v1/topics HTTP/1.0\r\n\r\n'))).toBe(200);
  });

  test.each(['200-ok', '100-continue, x', 'x 100-continue', ''])(
    'the expectation %j: 417 with a body, and the connection closes',
    async (expectation) => {
      const text = await untilClosed(`${TOPICS}Host: a\r\nExpect: ${expectation}\r\n\r\n${paid()}`);
      expect(statusOf(text)).toBe(417);
      expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
      expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '').error.code).toBe('expectation_failed');
    },
  );

  test.each(['100-continue', '100-Continue'])('the expectation %s is met', async (expectation) => {
    const text = await untilClosed(
      `${TOPICS}Host: a\r\nConnection: close\r\nContent-Length: 2\r\nExpect: ${expectation}\r\n\r\n{}`,
    );
    expect(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
  });

  test('a bad Host with an expectation is 400, before the body is asked for', async () => {
    const text = await untilClosed(`${TOPICS}Host: a b\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n`);
    expect(statusOf(text)).toBe(400);
  });
});
