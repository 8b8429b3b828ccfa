/**
 * The Fastify instance that every server of this project begins as: its limits of time and size, ids, headers of every
 * page, and the request log. It has no routes yet.
 */

import type { Server } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn, setTimeout } from 'node:timers/promises';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Settings } from '../../data/runtime/settings.ts';
import { trustedProxies } from './caller-address.ts';
import { boundConnections } from './connections.ts';
import { clientErrors, frameworkErrors } from './fallback.ts';
import type { RequestFacts } from './passenger.ts';
import { parseQueryString } from './query-string.ts';
import { requestIds } from './request-id.ts';
import { installRequestLog, type Observer } from './request-log.ts';
import { IDLE_MS } from './slow-readers.ts';

declare module 'fastify' {
  interface FastifyReply {
    /** What the request log tells of the request; null until a route has it. */
    facts: RequestFacts | null;
  }
}

/** A flood of new connections does not keep a server open. */
const TURNS_MOST = 200;

export interface ServerDependencies {
  settings: Settings;
  log: Logger;
  /** An id that was never given before, of `A-Za-z0-9._-`. */
  randomId: () => string;
  /** Told of every answer. Default: nobody is. */
  observe?: Observer | null;
  /**
   * How long a closing server goes on taking requests, each answered with `Connection: close`, so that callers with
   * open connections leave by themselves instead of being cut off. Default 0.
   */
  drainMs?: number;
  /** Told when the server begins to close, before it drains. */
  onClosing?: () => void;
  /** Told of every route as it is made, for tests that walk all of them. */
  onRoute?: (route: { method: string; url: string }) => void;
}

/** How long a client may take to send its headers, its whole request, and to be silent in between. */
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** So much later than its time a slow request may be cut off. */
const CONNECTIONS_CHECKED_EVERY_MS = 3_000;
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
/** Longer than any header block may be, so that no path is too long for its route: it is not found instead. */
const PATH_PARAMETER_MAX = 32_768;

/** What even a page of a plugin carries. */
const EVERY_PAGE = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'same-origin',
};

export function openServer(dependencies: ServerDependencies): FastifyInstance {
  const { settings, log, randomId, onRoute, onClosing, drainMs = 0, observe = null } = dependencies;
  const app = Fastify({
    logger: false,
    trustProxy: trustedProxies(settings),
    genReqId: requestIds(randomId),
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECKED_EVERY_MS,
      // A request without a body costs no stream: a twentieth of all that a free answer costs.
      optimizeEmptyRequests: true,
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
  // A caller may close its sending side with its last request: it still gets, and has paid for, the answer.
  Object.assign(app.server, { httpAllowHalfOpen: true });
  // Such a request's stream has ended before anybody listens; whoever reads a body gets one that ends when it is read.
  app.addHook('preParsing', (request, _reply, payload, done) => {
    done(null, request.method !== 'GET' && payload.readableEnded ? Readable.from([]) : payload);
  });
  boundConnections(app.server, log);
  app.decorateReply('facts', null);
  if (onRoute) app.addHook('onRoute', ({ method, url }) => onRoute({ method: String(method), url }));
  if (onClosing) app.addHook('preClose', async () => onClosing());
  if (drainMs > 0) app.addHook('preClose', () => drain(app.server, drainMs));
  // What is not sent by `send.ts`, which watches its readers itself. Node could do so for each connection, but that moves
  // timers with each read and write: measured, 3 in 100 of all that a free answer costs.
  app.addHook('onRequest', (_request, { raw }, done) => {
    raw.setTimeout(IDLE_MS);
    done();
  });
  // Public answers are written by `send.ts` and never come by here.
  app.addHook('onSend', async (request, reply) => {
    reply.headers({ 'X-Request-Id': request.id, ...EVERY_PAGE });
  });
  installRequestLog(app, observe);
  return app;
}

/**
 * Waits, and then until every connection that the system has taken on is let in: one that is left in its queue when the
 * port closes is reset, although its caller may have sent a request.
 */
async function drain(server: Server, drainMs: number): Promise<void> {
  await setTimeout(drainMs);
  let letIn = 0;
  const count = (): void => {
    letIn += 1;
  };
  server.on('connection', count);
  for (let turn = 0, before = -1; turn < TURNS_MOST && before !== letIn; turn++) {
    before = letIn;
    await nextTurn();
  }
  server.off('connection', count);
}
