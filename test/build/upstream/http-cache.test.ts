/** The HTTP cache: revalidation between runs, and resumption of an interrupted run. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { open, read, scripted, useScriptedServer } from './scripted-server.ts';

useScriptedServer();

describe('an interrupted run', () => {
  const pages = ['page=1', 'page=2', 'page=3'].map((page) => `series?${page}`);
  const asked = (): (string | undefined)[] => scripted.requests.map(({ url }) => url?.split('?')[1]);

  it('resumes at the next page within an hour, and not after a run that ended', async () => {
    scripted.handler = (request, response) =>
      response.writeHead(200).end(`${request.url} ${scripted.requests.length}`);
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

  // Repeated, because the file system's clock differs from ours by some milliseconds.
  it('resumes after a cancellation, and restarts after an hour or an error', {
    repeats: 100,
  }, async () => {
    scripted.handler = (_, response) => response.writeHead(200).end('page');
    const controller = new AbortController();
    const cancelled = open({ signal: controller.signal });
    await cancelled.text('series?page=1');
    controller.abort();
    await cancelled.close();
    const failed = open();
    await failed.text('series?page=1');
    expect(scripted.requests).toHaveLength(1);
    await failed.close();
    await open().text('series?page=1');
    expect(scripted.requests).toHaveLength(2);
    const later = open({ now: () => Date.now() + 3_600_001 });
    await later.text('series?page=1');
    expect(scripted.requests).toHaveLength(3);
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
