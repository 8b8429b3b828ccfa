/** The HTTP client against a scripted server: retries, limits, redirects, references. */
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { guardedConnect, refusePrivateHost } from '../../../build/upstream/download.ts';
import { HttpUpstream } from '../../../build/upstream/http-upstream.ts';
import { UpstreamError } from '../../../build/upstream/upstream.ts';
import { read, scripted, useScriptedServer } from './scripted-server.ts';

useScriptedServer();

describe('transient failures are retried', () => {
  it.each([408, 429, 500, 502, 503, 504])('retries status %d with exponential delays', async (status) => {
    scripted.handler = (_, response, count) => {
      if (count <= 3) response.writeHead(status).end('no');
      else response.end('yes');
    };
    expect(await read('a.csv')).toBe('yes');
    expect(scripted.waits).toEqual([250, 500, 1000]);
  });

  it('retries a connection that closes before the headers', async () => {
    scripted.handler = (request, response, count) => {
      if (count === 1) request.socket.destroy();
      else response.end('yes');
    };
    expect(await read('a.csv')).toBe('yes');
  });

  it('stops after five attempts and states their number', async () => {
    scripted.handler = (_, response) => response.writeHead(503).end();
    await expect(read('a.csv')).rejects.toThrow(/\/data\/a\.csv: HTTP 503 \(tried 5 times\)/);
    expect(scripted.requests).toHaveLength(5);
  });

  it('waits for Retry-After in seconds or as a date, and stops when it exceeds the limit', async () => {
    scripted.handler = (_, response, count) => {
      if (count === 1) response.writeHead(429, { 'retry-after': '7' }).end();
      else response.end('yes');
    };
    expect(await read('a.csv')).toBe('yes');
    expect(scripted.waits).toEqual([7000]);
    scripted.requests.length = 0;
    const date = new Date(Date.now() + 20_000).toUTCString();
    scripted.handler = (_, response, count) => {
      if (count === 1) response.writeHead(429, { 'retry-after': date }).end();
      else response.end('later');
    };
    expect(await read('c.csv')).toBe('later');
    expect(scripted.waits[1]).toBeGreaterThan(15_000);
    scripted.handler = (_, response) => response.writeHead(503, { 'retry-after': '86400' }).end();
    scripted.requests.length = 0;
    await expect(read('b.csv')).rejects.toThrow('HTTP 503');
    expect(scripted.requests).toHaveLength(1);
  });

  it.each([400, 401, 403, 404, 410])('does not retry status %d', async (status) => {
    scripted.handler = (_, response) => response.writeHead(status).end();
    await expect(read('a.csv')).rejects.toMatchObject({ name: 'UpstreamError', status });
    expect(scripted.requests).toHaveLength(1);
  });
});

describe('an interrupted download', () => {
  it('is repeated from its beginning', async () => {
    const whole = 'abcdefghijklmnopqrstuvwxyz'.repeat(4000);
    scripted.handler = (_, response, count) => {
      response.writeHead(200, { etag: `"v${count}"`, 'content-length': whole.length });
      if (count === 1) response.write(whole.slice(0, 50_000), () => setImmediate(() => response.destroy()));
      else response.end(whole.toUpperCase());
    };
    expect(await read('a.csv')).toBe(whole.toUpperCase());
  });

  it('fails after repeated interruptions', async () => {
    scripted.handler = (_, response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('some', () => setImmediate(() => response.destroy()));
    };
    await expect(read('a.csv')).rejects.toThrow(/ended early.*tried 5 times/);
  });
});

describe('a faulty or hostile server', () => {
  it.each([
    ['redirects in a loop', '/data/a.csv', /more than 5 redirects/],
    [
      'redirects into a private network',
      'http://10.0.0.1/a',
      /redirects to the private address 10\.0\.0\.1: refused/,
    ],
    ['redirects to a cloud metadata address', 'http://169.254.169.254/latest/', /private address/],
    ['redirects to a private IPv6 address', 'http://[fd00::1]/a.csv', /private address/],
    ['redirects to an IPv4-mapped address', 'http://[::ffff:10.0.0.1]/a.csv', /private address/],
    ['redirects to localhost', 'http://localhost:1/a.csv', /private address localhost/],
    ['redirects to another protocol', 'file:///etc/passwd', /refused/],
    ['redirects to an invalid URL', 'http://', /refused/],
  ])('%s', async (_, location, message) => {
    scripted.handler = (_request, response) => response.writeHead(302, { location }).end();
    await expect(read('a.csv')).rejects.toThrow(message);
  });

  it('may redirect within its host', async () => {
    scripted.handler = (request, response) => {
      if (request.url === '/data/a.csv') response.writeHead(301, { location: '/elsewhere/b.csv' }).end();
      else response.end(request.url);
    };
    expect(await read('a.csv')).toBe('/elsewhere/b.csv');
  });

  it('sends an HTML page instead of data', async () => {
    scripted.handler = (_, response) =>
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<h1>Sorry</h1>');
    await expect(read('a.csv')).rejects.toThrow('an HTML page instead of data');
  });

  it('exceeds the size limit, compressed or not', async () => {
    scripted.handler = (request, response) => {
      const large = Buffer.alloc(3_000_000, 'x');
      if (request.url?.includes('bomb'))
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(large));
      else response.end(large);
    };
    await expect(read('a.csv')).rejects.toThrow('larger than 1000000 bytes');
    await expect(read('bomb.csv')).rejects.toThrow('larger than 1000000 bytes');
    expect(scripted.requests).toHaveLength(2);
  });

  it('labels plain text as gzip, or uses an unrequested encoding', async () => {
    scripted.handler = (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('plain');
    await expect(read('a.csv')).rejects.toThrow('ended early');
    scripted.handler = (_, response) => response.writeHead(200, { 'content-encoding': 'br' }).end('plain');
    await expect(read('b.csv')).rejects.toThrow('unrequested content encoding br');
  });

  it('may send gzip', async () => {
    scripted.handler = (_, response) =>
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
  ])('%s is refused without a request', async (reference) => {
    await expect(read(reference)).rejects.toThrow(UpstreamError);
    expect(scripted.requests).toHaveLength(0);
  });

  it('may contain encoded names and a query', async () => {
    scripted.handler = (request, response) => response.end(request.url);
    expect(await read('some%20name/%C3%A9.csv?page=2&per_page=100')).toBe(
      '/data/some%20name/%C3%A9.csv?page=2&per_page=100',
    );
  });
});

it('stops when cancelled', async () => {
  const controller = new AbortController();
  scripted.handler = () => controller.abort(new Error('enough'));
  await expect(read('a.csv', controller.signal)).rejects.toThrow('enough');
});

describe('private addresses', () => {
  it('are allowed for the configured origin only', () => {
    const origin = new URL('http://192.168.1.10/data/');
    expect(() => refusePrivateHost(new URL('http://192.168.1.10/other'), origin)).not.toThrow();
    for (const other of ['http://192.168.1.11/other', 'http://192.168.1.10:6379/', 'https://192.168.1.10/'])
      expect(() => refusePrivateHost(new URL(other), origin)).toThrow(UpstreamError);
  });
  it('are refused after DNS resolution, except for the configured origin', async () => {
    scripted.handler = (_, response) => response.end('configured mirror');
    const base = `http://localhost:${scripted.port}/data/`;
    const cache = join(scripted.directory, 'named');
    const signal = new AbortController().signal;
    const upstream = new HttpUpstream({ base, cache, maxFileBytes: 1_000, signal });
    expect(await upstream.text('a.csv')).toBe('configured mirror');
    await upstream.close();
    const connect = guardedConnect(new URL('http://origin.example/'));
    const host = { hostname: 'localhost', host: 'localhost' };
    const options = { ...host, protocol: 'http:', port: String(scripted.port) };
    const refused = await new Promise<Error | null>((settle) =>
      connect(options, (...[error]) => settle(error)),
    );
    expect(refused).toMatchObject({ name: 'PrivateAddressError' });
    expect(scripted.requests).toHaveLength(1);
  });
});
