/** The HTTP cache: revalidation between runs. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { open, read, scripted, useScriptedServer } from './scripted-server.ts';

useScriptedServer();

describe('conditional requests', () => {
  it.each([
    ['an ETag', { etag: '"v1"' }, 'if-none-match', '"v1"'],
    [
      'Last-Modified',
      { 'last-modified': 'Sat, 01 Nov 2025 00:00:00 GMT' },
      'if-modified-since',
      'Sat, 01 Nov 2025 00:00:00 GMT',
    ],
  ])('are made with %s, and a 304 is served from the cache', async (_, headers, name, value) => {
    scripted.handler = (request, response) => {
      if (request.headers[name] === value) response.writeHead(304, headers).end();
      else response.writeHead(200, headers).end('content');
    };
    expect(await read('a.csv')).toBe('content');
    expect(await read('a.csv')).toBe('content');
    expect(scripted.requests.map((request) => request.headers[name])).toEqual([undefined, value]);
  });

  it('detect a change, and fetch the changed file only once', async () => {
    let version = 1;
    scripted.handler = (request, response) => {
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
    scripted.requests.length = 0;
    expect(await third.text('b.csv')).toBe('"b2"');
    expect(scripted.requests).toHaveLength(0);
    await third.close(true);
  });

  it('treat a file without validators as changed', async () => {
    scripted.handler = (_, response) => response.end('x');
    const upstream = open();
    await upstream.text('a.csv');
    expect(await upstream.unchanged(upstream.fetched())).toBe(false);
    await upstream.close(true);
  });

  it('delete copies that a complete run no longer reads', async () => {
    scripted.handler = (_, response) => response.writeHead(200, { etag: '"x"' }).end('x');
    await read('a.csv');
    await read('b.csv');
    expect(await readdir(join(scripted.directory, 'copies'))).toHaveLength(2);
  });
});
