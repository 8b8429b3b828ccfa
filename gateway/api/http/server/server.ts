/**
 * The Fastify instance that every server of this project starts from: timeouts and size limits, request ids, security
 * headers, error handlers for what HTTP or the framework refuse, and the request log. It has no routes.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn, setTimeout } from 'node:timers/promises';
import proxyAddr from '@fastify/proxy-addr';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Settings } from '../../../../data/runtime/settings.ts';
import { splitList } from '../../../../data/runtime/settings-schema.ts';
import { parseQueryString } from '../../operations/operations.ts';
import { clientRequestId, SERVER_REQUEST_ID } from '../api/response.ts';
import { frameworkErrors } from './error-handlers.ts';
import { BrokenBody, boundPieces, clientErrors, isBodyBroken, serveChecked } from './malformed-requests.ts';
import type { Observer, RequestFacts } from './metrics.ts';
import { IDLE_MS, takeFairTurns } from './overload.ts';

declare module 'fastify' {
  interface FastifyReply {
    /** For the request log; null where the route sets nothing. */
    facts: RequestFacts | null;
  }
}

/** Bounds the wait for pending connections under a flood of new ones. */
const TURNS_MAX = 200;

export interface ServerOptions {
  settings: Settings;
  log: Logger;
  /** Gives a unique id of `A-Za-z0-9._-`. */
  randomId: () => string;
  /** Called for every answer. */
  observe?: Observer | null;
  /**
   * How long a closing server still accepts requests, each answered with `Connection: close`, so that clients close
   * their connections themselves instead of being cut off. Default 0.
   */
  drainMs?: number;
  /** Called for every route as it is registered; for tests. */
  onRoute?: (route: { method: string; url: string }) => void;
}

/** Limits on how long a client may take to send its headers and its request, and to stay idle in between. */
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** A slow request is cut off at most this much late. */
const CONNECTIONS_CHECKED_EVERY_MS = 3_000;
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
/** Longer than any request line, so that a long path is 404 and not a framework error. */
const PATH_PARAMETER_MAX = 32_768;

/** On every page, those of plugins included. */
const PAGE_HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'same-origin',
};

export function createHttpServer(dependencies: ServerOptions): FastifyInstance {
  const { settings, log, randomId, onRoute, drainMs = 0, observe = null } = dependencies;
  const app = Fastify({
    logger: false,
    trustProxy: trustedProxies(settings),
    genReqId: () => randomId(),
    serverFactory: (framework) => {
      const server = createListening();
      serveChecked(server, takeFairTurns(framework, addressReader(settings)), randomId);
      return server;
    },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: false,
    routerOptions: {
      caseSensitive: true,
      maxParamLength: PATH_PARAMETER_MAX,
      querystringParser: (text) => parseQueryString(text),
    },
    frameworkErrors,
    clientErrorHandler: clientErrors(randomId),
  });
  // Routes that read a body add a parser for its type: those of the framework would read JSON of a megabyte on any path.
  app.removeAllContentTypeParsers();
  app.addHook('preParsing', ({ raw, method }, _reply, payload, done) => {
    if (isBodyBroken(raw)) return done(new BrokenBody());
    if (method === 'GET') return done(null, payload);
    // The stream of a request without a body has ended before anybody listens; readers of a body get one that ends on read.
    if (payload.readableEnded) return done(null, Readable.from([]));
    boundPieces(raw);
    return done(null, payload);
  });
  limitConnections(app.server, log);
  app.decorateReply('facts', null);
  if (onRoute) app.addHook('onRoute', ({ method, url }) => onRoute({ method: String(method), url }));
  if (drainMs > 0) app.addHook('preClose', () => drain(app.server, drainMs));
  app.addHook('onSend', (request, reply, _payload, done) => {
    // Answers of the public API have headers of their own and are watched by `SlowClients`. An idle timeout of each connection
    // would move a timer on every read and write: 3 % of a cached answer.
    if (!reply.hasHeader('x-request-id')) {
      reply.raw.setTimeout(IDLE_MS);
      const sent = clientRequestId(request.raw);
      reply.headers({ 'X-Request-Id': sent ?? request.id, ...PAGE_HEADERS });
      if (sent !== null) reply.header(SERVER_REQUEST_ID, request.id);
    }
    done();
  });
  installRequestLog(app, observe);
  return app;
}

function createListening(): Server {
  const options = {
    // Checked by `serveChecked`, which answers with a body.
    requireHostHeader: false,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: CONNECTIONS_CHECKED_EVERY_MS,
    // A request without a body gets no stream: a twentieth of the cost of a cached answer.
    optimizeEmptyRequests: true,
  };
  const server = createServer(options);
  // A client may half-close its side after its last request and still gets its answer.
  return Object.assign(server, { httpAllowHalfOpen: true });
}

/**
 * Waits, then until every pending connection is accepted: one left in the system's queue when the port closes is reset,
 * although its client may have sent a request.
 */
async function drain(server: Server, drainMs: number): Promise<void> {
  await setTimeout(drainMs);
  let accepted = 0;
  const count = (): void => {
    accepted += 1;
  };
  server.on('connection', count);
  for (let turn = 0, before = -1; turn < TURNS_MAX && before !== accepted; turn++) {
    before = accepted;
    await nextTurn();
  }
  server.off('connection', count);
}

function installRequestLog(app: FastifyInstance, observe: Observer | null): void {
  if (observe === null) return;
  app.addHook('onResponse', (request, reply, done) => {
    const { facts, raw, elapsedTime } = reply;
    const unknown = { route: request.routeOptions.url ?? 'none', keyId: null, creditsCharged: 0 };
    observe({
      request_id: request.id,
      client_request_id: clientRequestId(request.raw),
      method: request.method,
      status: raw.statusCode,
      duration_ms: elapsedTime,
      facts: facts ?? unknown,
    });
    done();
  });
}

/** Makes unique ids: a random prefix for this process, then a counter. */
export function createRequestIds(): () => string {
  const prefix = randomBytes(9).toString('base64url');
  let count = 0;
  return () => `${prefix}-${(count++).toString(36)}`;
}

/** Trusted proxies as addresses and CIDR ranges. A hop count or "all" would let any caller choose an address. */
export function trustedProxies({ TRUST_PROXY }: Pick<Settings, 'TRUST_PROXY'>): string[] | false {
  const ranges = splitList(TRUST_PROXY);
  return ranges.length > 0 ? ranges : false;
}

/** Reads the caller's address by the rules of Fastify's `request.ip`; empty once the connection has closed. */
export function addressReader(settings: Pick<Settings, 'TRUST_PROXY'>): (request: IncomingMessage) => string {
  const ranges = trustedProxies(settings);
  if (!ranges) return ({ socket }) => socket.remoteAddress ?? '';
  const isTrusted = proxyAddr.compile(ranges);
  return (request) => proxyAddr(request, isTrusted) ?? '';
}

const CONNECTIONS_MAX = 20_000;
/** File handles for files, Redis and DuckDB. */
const RESERVED_HANDLES = 512;
const CONNECTIONS_MIN = 64;
const CLOSE_IDLE_EVERY_MS = 1_000;

/** The process's limit of file handles; Node raises it to the hard limit. */
function maxFileHandles(): number {
  try {
    const allowed = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return Number(allowed ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/**
 * Bounds the open connections of a process, so that it keeps file handles for its own files and Redis. At the bound, idle
 * connections are closed; clients that reuse connections expect that. @param max default: what the system allows, within bounds.
 */
export function limitConnections(
  server: Server,
  log: Logger,
  max = Math.max(CONNECTIONS_MIN, Math.min(CONNECTIONS_MAX, maxFileHandles() - RESERVED_HANDLES)),
): void {
  server.maxConnections = max;
  let closed_at_ms = Number.NEGATIVE_INFINITY;
  server.on('drop', () => {
    if (performance.now() - closed_at_ms < CLOSE_IDLE_EVERY_MS) return;
    closed_at_ms = performance.now();
    server.closeIdleConnections();
    log.warn({ max }, 'connection limit reached: closing idle connections');
  });
}
