/** A provider over HTTP that serves a small DDFcsv data set, with faults on demand. Each fault states the expected outcome. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { UpstreamOptions } from '../../../build/upstream/open-upstream.ts';
import type { RunRecord } from '../../../data/schema/lake.ts';
import { type Listening, listen } from '../../listen.ts';
import { cells, ddfFiles, type Series } from '../world.ts';

export interface UpstreamFault {
  name: string;
  /** Sends the faulty response, given the correct body. */
  respond: (request: IncomingMessage, response: ServerResponse, body: string) => void;
  /** Default: `failed`. */
  status?: RunRecord['status'];
  /** The expected reason. */
  reason: RegExp;
  /** Timeouts of the client, for faults that need them. */
  timeouts?: UpstreamOptions;
}

const PAGE =
  '<!DOCTYPE html>\n<html><head><title>Sorry</title></head><body>Down for maintenance</body></html>';
const isFigures = (request: IncomingMessage): boolean => request.url?.includes('datapoints') ?? false;

/** Changes the datapoint files only. */
const inFigures =
  (change: (body: string) => string): UpstreamFault['respond'] =>
  (request, response, body) =>
    void response.end(isFigures(request) ? change(body) : body);

function redirect(to: string, reason: RegExp): UpstreamFault {
  const respond: UpstreamFault['respond'] = (_, response) =>
    void response.writeHead(302, { location: to }).end();
  return { name: `redirects to ${to}`, respond, reason };
}

const oneLineLess = (body: string): string => body.slice(0, body.lastIndexOf('\n', body.length - 2) + 1);

/** @param neighbour the port of another service on this machine */
export const upstreamFaults = (neighbour: number): UpstreamFault[] => [
  {
    name: 'is unreachable',
    respond: (request) => void request.socket.destroy(),
    reason: /datapackage\.json: .*(closed|ECONNRESET|socket).*\(tried 3 times\)/i,
  },
  {
    name: 'responds with 503',
    respond: (_, response) => void response.writeHead(503).end(),
    reason: /HTTP 503 \(tried 3 times\)/,
  },
  {
    name: 'never responds',
    respond: () => {},
    reason: /Headers Timeout Error \(tried 3 times\)/,
    timeouts: { headersTimeoutMs: 150 },
  },
  {
    name: 'sends too slowly',
    respond: (_, response, body) => {
      response.writeHead(200, { 'content-length': body.length });
      let at = 0;
      const drip = setInterval(() => void response.write(body.slice(at, ++at)), 2);
      response.on('close', () => clearInterval(drip));
    },
    reason: /datapackage\.json: too slow: \d+ bytes in \d+ s/,
    timeouts: { minThroughput: { bytesPerS: 1_000_000, graceMs: 40 } },
  },
  {
    name: 'closes the connection early',
    respond: (_, response, body) => {
      response.writeHead(200, { 'content-length': body.length });
      response.write(body.slice(0, body.length / 2), () => response.destroy());
    },
    reason: /the response ended early: .*\(tried 3 times\)/,
  },
  {
    name: 'sends fewer bytes than Content-Length',
    respond: (_, response, body) => {
      response.writeHead(200, { 'content-length': body.length + 1000 });
      response.write(body);
    },
    reason: /the response ended early: Body Timeout Error \(tried 3 times\)/,
    timeouts: { bodyTimeoutMs: 150 },
  },
  {
    name: 'sends more bytes than Content-Length',
    respond: (request, response, body) => {
      const whole = isFigures(request) ? oneLineLess(body) : body;
      request.socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(whole)}\r\n\r\n${body}`);
      void response;
    },
    reason: /is longer than its Content-Length/,
  },
  {
    name: 'sends an HTML page',
    respond: (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE),
    reason: /datapackage\.json: an HTML page instead of data/,
  },
  {
    name: 'sends an HTML page as text/csv',
    respond: (request, response, body) =>
      void response.writeHead(200, { 'content-type': 'text/csv' }).end(isFigures(request) ? PAGE : body),
    reason: /a page of HTML or XML instead of a table/,
  },
  {
    name: 'renames a column',
    respond: inFigures((body) => body.replace('"geo"', '"country"')),
    reason: /no column "geo"; there are: country, time, one/,
  },
  {
    name: 'sends another file format',
    respond: (_, response) => void response.end('{"resources": [{"name": "figures"}]}'),
    reason: /datapackage\.json: resources\.0\.path/,
  },
  {
    name: 'loses half of its rows',
    respond: inFigures((body) => {
      const lines = body.trimEnd().split('\n');
      return `${lines.slice(0, lines.length / 2).join('\n')}\n`;
    }),
    status: 'suspicious',
    reason: /^Held against the last good run: rows fell by 5\d\.\d %/,
  },
  {
    name: 'redirects in a loop',
    respond: (request, response) => void response.writeHead(302, { location: request.url ?? '/' }).end(),
    reason: /more than 5 redirects/,
  },
  redirect('http://169.254.169.254/latest/meta-data/', /private address 169\.254\.169\.254: refused/),
  redirect('http://10.0.0.1/x.csv', /private address 10\.0\.0\.1: refused/),
  redirect(`http://127.0.0.1:${neighbour}/x.csv`, /private address 127\.0\.0\.1: refused/),
  redirect(`http://2130706433:${neighbour}/x.csv`, /private address 127\.0\.0\.1: refused/),
  redirect(`http://[::1]:${neighbour}/x.csv`, /private address ::1: refused/),
  redirect(`http://[::ffff:127.0.0.1]:${neighbour}/x.csv`, /private address ::ffff:7f00:1: refused/),
  redirect(`http://localhost:${neighbour}/x.csv`, /private address localhost: refused/),
  redirect('file:///etc/passwd', /redirects to "file:\/\/\/etc\/passwd": refused/),
];

/** The provider's series: ten places, ten years. */
export const published = (edition: number): Record<string, Series> => ({
  one: { name: 'One', unit: 'things', cells: cells(10, (place, year) => place + year / 10 + edition) },
  two: { name: 'Two', cells: cells(10, (place, year) => place * year) },
});

export interface FaultyUpstream {
  /** The mirror URL. */
  url: string;
  /** The port of a service that must not receive requests. */
  neighbour: number;
  /** Requests that the neighbour received. */
  visits: () => number;
  publish: (edition: number) => void;
  /** Null: no fault. */
  setFault: (fault: UpstreamFault | null) => void;
  stop: () => Promise<void>;
}

const start = (handler: RequestListener): Promise<Listening> =>
  listen(createServer(handler).on('clientError', (_, socket) => socket.destroy()));

export async function startFaultyUpstream(): Promise<FaultyUpstream> {
  let files: Record<string, string> = {};
  let fault: UpstreamFault | null = null;
  let visits = 0;
  const neighbour = await start((_, response) => {
    visits += 1;
    response.end('secret');
  });
  const server = await start((request, response) => {
    const body = files[decodeURIComponent(request.url?.split('/').at(-1) ?? '')];
    if (body === undefined) response.writeHead(404).end();
    else if (fault) fault.respond(request, response, body);
    else response.end(body);
  });
  return {
    url: `${server.url}/`,
    neighbour: neighbour.port,
    visits: () => visits,
    publish: (edition) => {
      files = ddfFiles(published(edition));
    },
    setFault: (next) => {
      fault = next;
    },
    stop: async () => {
      await server.stop();
      await neighbour.stop();
    },
  };
}

/** Three attempts without delays. */
export const SHORT: UpstreamOptions = { attempts: 3, random: () => 0, sleep: async () => {} };
