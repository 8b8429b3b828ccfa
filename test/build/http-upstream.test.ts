/** What servers do, well and badly, played by one of our own. */

import { readdirSync, statSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isPrivateAddress, refusePrivateHost } from '../../build/upstream/address-guard.ts';
import { HttpUpstream } from '../../build/upstream/http-upstream.ts';
import { delayAfter, RETRY_DEFAULTS, retryAfterMs, Transient } from '../../build/upstream/retry.ts';
import { UpstreamError } from '../../build/upstream/upstream-error.ts';

type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;

let directory: string;
let server: Server;
let base: string;
let requests: IncomingMessage[];
let handler: Handler;
let waits: number[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'almanac-upstream-'));
  requests = [];
  waits = [];
  server = createServer((request, response) => {
    requests.push(request);
    handler(request, response, requests.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/data/`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(directory, { recursive: true });
});

function open(more: { maxFileBytes?: number; signal?: AbortSignal; now?: () => number } = {}): HttpUpstream {
  return new HttpUpstream({
    base,
    cache: join(directory, 'copies'),
    maxFileBytes: more.maxFileBytes ?? 1_000_000,
    signal: more.signal ?? new AbortController().signal,
    ...(more.now && { now: more.now }),
    retry: {
      random: () => 0.5,
      sleep: async (ms) => {
        waits.push(ms);
      },
    },
  });
}

/** Reads once with an upstream of its own. */
async function read(reference: string, more: Parameters<typeof open>[0] = {}): Promise<string> {
  const upstream = open(more);
  try {
    return await upstream.text(reference);
  } finally {
    await upstream.close(true);
  }
}

describe('a run that was broken off', () => {
  const pages = ['page=1', 'page=2', 'page=3'].map((page) => `series?${page}`);
  const asked = (): (string | undefined)[] => requests.map(({ url }) => url?.split('?')[1]);

  it('is continued at the page where it was, within the hour, and not after a run that ended', async () => {
    handler = (request, response) => response.writeHead(200).end(`${request.url} ${requests.length}`);
    // Never closed, as after a crash.
    const crashed = open();
    for (const page of pages.slice(0, 2)) await crashed.text(page);
    const next = open();
    const texts = await Promise.all(pages.map((page) => next.text(page)));
    expect(asked()).toEqual(['page=1', 'page=2', 'page=3']);
    expect(texts[0]).toMatch(/page=1 1$/);
    await next.close(true);
    for (const page of pages) await read(page);
    expect(asked().slice(3)).toEqual(['page=1', 'page=2', 'page=3']);
  });

  it('is continued after a cancellation, and begun anew after an hour or an error', async () => {
    handler = (_, response) => response.writeHead(200).end('page');
    const controller = new AbortController();
    const cancelled = open({ signal: controller.signal });
    await cancelled.text('series?page=1');
    controller.abort();
    await cancelled.close();
    const failed = open();
    await failed.text('series?page=1');
    expect(requests).toHaveLength(1);
    await failed.close();
    await open().text('series?page=1');
    expect(requests).toHaveLength(2);
    const later = open({ now: () => Date.now() + 3_600_001 });
    await later.text('series?page=1');
    expect(requests).toHaveLength(3);
    await later.close();
  });
});

describe('conditional requests', () => {
  it.each([
    ['an ETag', { etag: '"v1"' }, 'if-none-match', '"v1"'],
    [
      'Last-Modified',
      { 'last-modified': 'Sat, 01 Nov 2025 00:00:00 GMT' },
      'if-modified-since',
      'Sat, 01 Nov 2025 00:00:00 GMT',
    ],
  ])('are made with %s, and a 304 is answered from the copy at hand', async (_, headers, name, value) => {
    handler = (request, response) => {
      if (request.headers[name] === value) response.writeHead(304, headers).end();
      else response.writeHead(200, headers).end('content');
    };
    expect(await read('a.csv')).toBe('content');
    expect(await read('a.csv')).toBe('content');
    expect(requests.map((request) => request.headers[name])).toEqual([undefined, value]);
  });

  it('tell in one round whether anything has changed, and fetch what has only once', async () => {
    let version = 1;
    handler = (request, response) => {
      const etag = request.url?.endsWith('b.csv') ? `"b${version}"` : '"a"';
      if (request.headers['if-none-match'] === etag) response.writeHead(304, { etag }).end();
      else response.writeHead(200, { etag }).end(etag);
    };
    const first = open();
    await first.text('a.csv');
    await first.text('b.csv');
    const known = first.fetched();
    await first.close(true);
    expect(known.map(({ validator }) => validator)).toEqual(['"a"', '"b1"']);
    const second = open();
    expect(await second.unchanged(known)).toBe(true);
    await second.close(true);
    version = 2;
    const third = open();
    expect(await third.unchanged(known)).toBe(false);
    requests.length = 0;
    expect(await third.text('b.csv')).toBe('"b2"');
    expect(requests).toHaveLength(0);
    await third.close(true);
  });

  it('cannot be made for a file without validators: it counts as changed', async () => {
    handler = (_, response) => response.end('x');
    const upstream = open();
    await upstream.text('a.csv');
    expect(await upstream.unchanged(upstream.fetched())).toBe(false);
    await upstream.close(true);
  });

  it('leave no copy of what a whole run no longer reads', async () => {
    handler = (_, response) => response.writeHead(200, { etag: '"x"' }).end('x');
    await read('a.csv');
    await read('b.csv');
    expect(await readdir(join(directory, 'copies'))).toHaveLength(2);
  });
});

describe('what passes is tried again', () => {
  it.each([408, 429, 500, 502, 503, 504])('%d, with growing waits', async (status) => {
    handler = (_, response, count) => {
      if (count <= 3) response.writeHead(status).end('no');
      else response.end('yes');
    };
    expect(await read('a.csv')).toBe('yes');
    expect(waits).toEqual([250, 500, 1000]);
  });

  it('a connection that is refused half-way through the headers', async () => {
    handler = (request, response, count) => {
      if (count === 1) request.socket.destroy();
      else response.end('yes');
    };
    expect(await read('a.csv')).toBe('yes');
  });

  it('not for ever: the error says how often', async () => {
    handler = (_, response) => response.writeHead(503).end();
    await expect(read('a.csv')).rejects.toThrow(/\/data\/a\.csv: answered 503 \(tried 5 times\)/);
    expect(requests).toHaveLength(5);
  });

  it('no sooner than Retry-After asks, and not at all when it asks for too long', async () => {
    handler = (_, response, count) => {
      if (count === 1) response.writeHead(429, { 'retry-after': '7' }).end();
      else response.end('yes');
    };
    expect(await read('a.csv')).toBe('yes');
    expect(waits).toEqual([7000]);
    handler = (_, response) => response.writeHead(503, { 'retry-after': '86400' }).end();
    requests.length = 0;
    await expect(read('b.csv')).rejects.toThrow('answered 503');
    expect(requests).toHaveLength(1);
  });

  it.each([400, 401, 403, 404, 410])('%d is not tried again', async (status) => {
    handler = (_, response) => response.writeHead(status).end();
    await expect(read('a.csv')).rejects.toMatchObject({ name: 'UpstreamError', status });
    expect(requests).toHaveLength(1);
  });

  it('waits as long as the attempt and the dice say', () => {
    const failure = new Transient('no', 503, null);
    const options = { ...RETRY_DEFAULTS, attempts: 20, random: () => 0.999 };
    expect([0, 1, 5, 12].map((attempt) => delayAfter(failure, attempt, options))).toEqual([
      500, 999, 15984, 29970,
    ]);
    expect(delayAfter(failure, 19, options)).toBeNull();
    expect(retryAfterMs('Fri, 20 Nov 2026 12:00:10 GMT', Date.UTC(2026, 10, 20, 12))).toBe(10_000);
    expect(retryAfterMs('soon', 0)).toBeNull();
  });
});

describe('a download that breaks off', () => {
  /** Calls when the client has bytes of the download on disk. */
  function afterSaving(then: () => void): void {
    const copies = join(directory, 'copies');
    const [part] = readdirSync(copies).filter((name) => name.endsWith('.part'));
    if (part && statSync(join(copies, part)).size > 0) then();
    else setImmediate(() => afterSaving(then));
  }
  const whole = 'abcdefghijklmnopqrstuvwxyz'.repeat(4000);

  it('is continued where it broke, when the server proves that the file is the same', async () => {
    handler = (request, response, count) => {
      const headers = { etag: '"v1"', 'accept-ranges': 'bytes' };
      const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '');
      if (range && request.headers['if-range'] === '"v1"') {
        const from = Number(range[1]);
        response.writeHead(206, {
          ...headers,
          'content-range': `bytes ${from}-${whole.length - 1}/${whole.length}`,
        });
        response.end(whole.slice(from));
        return;
      }
      response.writeHead(200, { ...headers, 'content-length': whole.length });
      if (count === 1) response.write(whole.slice(0, 50_000), () => afterSaving(() => response.destroy()));
      else response.end(whole);
    };
    expect(await read('a.csv')).toBe(whole);
    expect(requests[1]?.headers.range).toMatch(/^bytes=\d+-$/);
  });

  it.each([
    ['the server says nothing of ranges', {}],
    ['its validator is weak', { etag: 'W/"v1"', 'accept-ranges': 'bytes' }],
  ])('begins anew when %s', async (_, headers) => {
    handler = (_request, response, count) => {
      response.writeHead(200, { ...headers, 'content-length': whole.length });
      if (count === 1) response.write(whole.slice(0, 50_000), () => setImmediate(() => response.destroy()));
      else response.end(whole);
    };
    expect(await read('a.csv')).toBe(whole);
    expect(requests[1]?.headers.range).toBeUndefined();
  });

  it('begins anew when the file has changed meanwhile', async () => {
    handler = (_, response, count) => {
      response.writeHead(200, {
        etag: `"v${count}"`,
        'accept-ranges': 'bytes',
        'content-length': whole.length,
      });
      if (count === 1) response.write(whole.slice(0, 50_000), () => afterSaving(() => response.destroy()));
      else response.end(whole.toUpperCase());
    };
    expect(await read('a.csv')).toBe(whole.toUpperCase());
    expect(requests[1]?.headers['if-range']).toBe('"v1"');
  });

  it('is an error when it breaks time and again', async () => {
    handler = (_, response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('some', () => setImmediate(() => response.destroy()));
    };
    await expect(read('a.csv')).rejects.toThrow(/broke off.*tried 5 times/);
  });
});

describe('a server that is broken or hostile', () => {
  it.each([
    ['redirects in a circle', '/data/a.csv', /more than 5 redirects/],
    [
      'redirects into a private network',
      'http://10.0.0.1/a.csv',
      /redirects to the private address 10\.0\.0\.1: refused/,
    ],
    ['redirects to the metadata address of a cloud', 'http://169.254.169.254/latest/', /private address/],
    ['redirects to a private IPv6 address', 'http://[fd00::1]/a.csv', /private address/],
    ['redirects to IPv4 in disguise', 'http://[::ffff:10.0.0.1]/a.csv', /private address/],
    ['redirects to the machine itself by name', 'http://localhost:1/a.csv', /private address localhost/],
    ['redirects to another protocol', 'file:///etc/passwd', /refused/],
    ['redirects to nothing', 'http://', /refused/],
  ])('%s', async (_, location, message) => {
    handler = (_request, response) => response.writeHead(302, { location }).end();
    await expect(read('a.csv')).rejects.toThrow(message);
  });

  it('may redirect within its own host', async () => {
    handler = (request, response) => {
      if (request.url === '/data/a.csv') response.writeHead(301, { location: '/elsewhere/b.csv' }).end();
      else response.end(request.url);
    };
    expect(await read('a.csv')).toBe('/elsewhere/b.csv');
  });

  it('sends an HTML page in place of data', async () => {
    handler = (_, response) =>
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<h1>Sorry</h1>');
    await expect(read('a.csv')).rejects.toThrow('an HTML page in place of data');
  });

  it('sends more than allowed, told or untold, packed or unpacked', async () => {
    handler = (request, response) => {
      const large = Buffer.alloc(3_000_000, 'x');
      if (request.url?.includes('bomb'))
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(large));
      else response.end(large);
    };
    await expect(read('a.csv')).rejects.toThrow('larger than 1000000 bytes');
    await expect(read('bomb.csv')).rejects.toThrow('larger than 1000000 bytes');
    expect(requests).toHaveLength(2);
  });

  it('sends what is not gzip as gzip, or a coding that nobody asked for', async () => {
    handler = (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('plain');
    await expect(read('a.csv')).rejects.toThrow('broke off');
    handler = (_, response) => response.writeHead(200, { 'content-encoding': 'br' }).end('plain');
    await expect(read('b.csv')).rejects.toThrow('content coding br was not asked for');
  });

  it('sends gzip that is good', async () => {
    handler = (_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('packed'));
    expect(await read('a.csv')).toBe('packed');
  });
});

describe('references', () => {
  it.each([
    '../secret',
    '/absolute',
    'http://elsewhere.example/a',
    '//elsewhere.example/a',
    '..%2fsecret',
    '%2e%2e/secret',
    'a/..%5c..%5cb',
  ])('%s is refused before anything is asked', async (reference) => {
    await expect(read(reference)).rejects.toThrow(UpstreamError);
    expect(requests).toHaveLength(0);
  });

  it('may hold encoded names and a query', async () => {
    handler = (request, response) => response.end(request.url);
    expect(await read('some%20name/%C3%A9.csv?page=2&per_page=100')).toBe(
      '/data/some%20name/%C3%A9.csv?page=2&per_page=100',
    );
  });
});

it('stops when it is cancelled', async () => {
  const controller = new AbortController();
  handler = () => controller.abort(new Error('enough'));
  await expect(read('a.csv', { signal: controller.signal })).rejects.toThrow('enough');
});

describe('addresses', () => {
  it.each([
    '10.1.2.3',
    '127.0.0.1',
    '0.0.0.0',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fc00::1',
    'ff02::1',
    '::ffff:8.8.8.8',
  ])('%s is private', (address) => {
    expect(isPrivateAddress(address)).toBe(true);
  });
  it.each(['8.8.8.8', '172.32.0.1', '192.169.0.1', '2606:4700::1', 'example.org'])('%s is not', (address) => {
    expect(isPrivateAddress(address)).toBe(false);
  });
  it('are allowed where the provider itself has them', () => {
    const origin = new URL('http://192.168.1.10/data/');
    expect(() => refusePrivateHost(new URL('http://192.168.1.10/other'), origin)).not.toThrow();
    expect(() => refusePrivateHost(new URL('http://192.168.1.11/other'), origin)).toThrow(UpstreamError);
  });
});
