/** The statistics, tables and load generator of the bench. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { requestText } from './http-client.ts';
import type { LoadJob, LoadResult } from './load.ts';
import { chosenParts } from './parts.ts';
import { forkTask, GATEWAY_FLAGS } from './processes.ts';
import { isMet, markdown, type Report, type Row, ratio } from './report.ts';
import { RESULTS, withResults } from './scratch.ts';
import { repeatStarts } from './throughput.ts';

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

  it('replaces the block of the parts that ran on the page of results, or appends it', () => {
    const page = readFileSync(RESULTS, 'utf8');
    const written = withResults(page, 'files', 'npm run bench -- --only files', 'a table');
    expect(written).toContain(
      '<!-- bench files -->\n## npm run bench -- --only files\n\na table\n<!-- /bench files -->\n\n<!-- bench formats -->',
    );
    expect(written.split('<!-- bench ').length).toBe(page.split('<!-- bench ').length);
    expect(withResults(written, 'files', 'npm run bench -- --only files', 'a table')).toBe(written);
    const appended = withResults(page, 'cold', 'npm run bench -- --only cold', 'a table');
    expect(appended.startsWith(page)).toBe(true);
  });

  it('shows goal, verdict and the change against an earlier report', () => {
    const report = (value: number): Report => ({
      at: '2026-11-21T00:00:00Z',
      machine: { cores: 2 },
      rows: [row([value], [1000], { at: 'least', bound: 0.9 }), { name: 'another', skipped: 'no mirror' }],
    });
    const table = markdown(report(800), report(1000));
    expect(table).toContain(
      '| 800 req/s | a floor: 1,000 req/s | 0.80 |  | ≥ 0.9 × | **not met** | −20 % (ratio −20 %) |',
    );
    expect(table).toContain('| another | skipped: no mirror |');
    expect(markdown(report(950), null)).toContain('| 0.95 |  | ≥ 0.9 × | met |\n');
  });

  it('merges the rounds of several process starts; a row that failed once is skipped', async () => {
    let start = 0;
    const [whole, broken, ...others] = await repeatStarts(async () => {
      start += 1;
      const found = row([10 * start, 20 * start], [10, 10], undefined);
      found.measured.cpu_us = start;
      return [found, start === 2 ? { name: 'broken', skipped: 'failed' } : { ...found, name: 'broken' }];
    });
    expect(others).toEqual([]);
    expect(broken).toEqual({ name: 'broken', skipped: 'failed' });
    expect(whole).toMatchObject({ measured: { rounds: [10, 20, 20, 40, 30, 60], cpu_us: 2 } });
    expect(whole && 'measured' in whole && ratio(whole)).toBe(2.5);
  });

  it('runs the gateway as `npm start` and the image do', () => {
    const flags = GATEWAY_FLAGS.join(' ');
    const read = (file: string): string => readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
    expect(JSON.parse(read('package.json')).scripts.start).toContain(`node ${flags} gateway/main.ts`);
    expect(read('Dockerfile').replaceAll(/["',]/g, '')).toContain(`node ${flags} gateway/main.ts`);
  });

  it('lists all parts when asked for an unknown one', () => {
    expect(chosenParts('cold,cached').map(([name]) => name)).toEqual(['cached', 'cold']);
    expect(() => chosenParts('cache')).toThrow(/unknown part "cache"; parts: night, /);
  });
});

describe('the load generator', () => {
  let server: Server;

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  async function load(listener: RequestListener, requests: string[], status?: number): Promise<LoadResult> {
    server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await using generator = forkTask(new URL('load.ts', import.meta.url));
    const job = {
      port,
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
