/** The statistics, tables and load generator of the bench. */
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listen } from '../listen.ts';
import { requestText } from './http-client.ts';
import type { LoadJob, LoadResult } from './load.ts';
import { forkTask, GATEWAY_FLAGS } from './processes.ts';
import { isMet, type Row, ratio } from './report.ts';

const row = (measured: number[], floor: number[], goal: Row['goal']): Row => ({
  name: 'a row',
  measured: { unit: 'req/s', rounds: measured },
  floor: { name: 'a floor', sample: { unit: 'req/s', rounds: floor } },
  ...(goal && { goal }),
});

describe('figures', () => {
  it('judges a goal by the median of the ratios of rounds, not by the ratio of medians', () => {
    const uneven = row([100, 10, 90], [100, 20, 100], { at: 'least', bound: 0.9 });
    expect(ratio(uneven)).toBe(0.9);
    expect(isMet(uneven)).toBe(true);
    expect(isMet(row([1], [2], { at: 'most', bound: 0.4 }))).toBe(false);
  });

  it('runs the gateway as `npm start` and the image do', () => {
    const flags = GATEWAY_FLAGS.join(' ');
    const read = (file: string): string => readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
    expect(JSON.parse(read('package.json')).scripts.start).toContain(`node ${flags} gateway/main.ts`);
    expect(read('Dockerfile').replaceAll(/["',]/g, '')).toContain(`node ${flags} gateway/main.ts`);
  });
});

describe('the load generator', () => {
  async function load(listener: RequestListener, requests: string[], status?: number): Promise<LoadResult> {
    await using server = await listen(createServer(listener));
    await using generator = forkTask(new URL('load.ts', import.meta.url));
    const job = {
      port: server.port,
      requests,
      connections: 1,
      duration_ms: 20_000,
      once: true,
      ...(status && { status }),
    };
    return await generator.ask<LoadJob, LoadResult>(job);
  }

  it('counts each response once, whatever its framing', async () => {
    const seen: string[] = [];
    const listener: RequestListener = (request, response) => {
      seen.push(request.url ?? '');
      if (request.url === '/chunked') {
        response.write('0\r\n');
        response.end('x'.repeat(100_000));
      } else if (request.url === '/empty') response.writeHead(200, { 'content-length': 0 }).end();
      else response.writeHead(200, { 'content-length': 200_000 }).end('y'.repeat(200_000));
    };
    const paths = ['/chunked', '/long', '/empty', '/long', '/chunked'];
    const result = await load(
      listener,
      paths.map((path) => requestText({ path })),
    );
    expect(seen).toEqual(paths);
    expect(result).toMatchObject({ answers: 5, errors: 0 });
  });

  it('ends a 304 after its headers, whatever its Content-Length', async () => {
    const listener: RequestListener = (_request, response) => {
      response.writeHead(304, { etag: '"a"', 'content-length': 500 }).end();
    };
    const paths = ['/a', '/b', '/c'].map((path) => requestText({ path }));
    expect(await load(listener, paths, 304)).toMatchObject({ answers: 3, errors: 0 });
  });

  it('counts a response with an unexpected status as an error', async () => {
    const listener: RequestListener = (_request, response) => {
      response.writeHead(429, { 'content-length': 2 }).end('no');
    };
    const result = await load(listener, [requestText({ path: '/a' }), requestText({ path: '/b' })]);
    expect(result).toMatchObject({ answers: 0, errors: 2 });
  });
});
