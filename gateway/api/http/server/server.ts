/**
 * The Fastify instance that every server of this project starts from: timeouts and size limits, request ids, security
 * headers, error handlers for what HTTP or the framework refuse, and the request log. It has no routes.
 */
import { createServer, type Server } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn, setTimeout } from 'node:timers/promises';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Settings } from '../../../../data/runtime/settings.ts';
import { parseQueryString } from '../../operations/parameters/parameters.ts';
import { BrokenBody, boundPieces, clientErrors, isBodyBroken } from './client-errors.ts';
import { limitConnections } from './connections.ts';
import { frameworkErrors } from './error-handlers.ts';
import { takeFairTurns } from './fair-turns.ts';
import { addressReader, clientRequestId, SERVER_REQUEST_ID, trustedProxies } from './request.ts';
import { serveChecked } from './request-checks.ts';
import { installRequestLog, type Observer, type RequestFacts } from './request-log.ts';
import { IDLE_MS } from './slow-clients.ts';

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
  // Idle timeout of page requests; answers of the public API are watched by `slow-clients.ts`. Node's own timeout for each
  // connection would move a timer on every read and write: 3 % of a cached answer.
  app.addHook('onRequest', (_request, { raw }, done) => {
    raw.setTimeout(IDLE_MS);
    done();
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    // Answers of the public API have their own.
    if (!reply.hasHeader('x-request-id')) {
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
