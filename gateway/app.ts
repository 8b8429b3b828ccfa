/**
 * The gateway as a Fastify instance, made from its dependencies: it reads no settings from anywhere and listens
 * nowhere. `main.ts` does both.
 */
import { setTimeout } from 'node:timers/promises';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { AdminDependencies } from '../admin/area.ts';
import { registerAdmin } from '../admin/plugin.ts';
import { type Settings, splitList } from '../data/runtime/settings.ts';
import { type AccountPages, registerAccountPages } from './account/pages/plugin.ts';
import { boundConnections } from './http/connections.ts';
import { installDocs, OPENAPI_PATHS } from './http/docs.ts';
import { clientErrors, frameworkErrors, installFallback } from './http/fallback.ts';
import { installHealth } from './http/health.ts';
import type { Metrics } from './http/metrics.ts';
import { PRESSURE_LIMITS, Pressure } from './http/pressure.ts';
import { parseQueryString } from './http/query-string.ts';
import { requestIds } from './http/request-id.ts';
import { installRequestLog } from './http/request-log.ts';
import type { Metering } from './metering/metering.ts';
import { buildOpenApi } from './openapi.ts';
import { admit } from './routes/admission.ts';
import type { RequestFacts } from './routes/passage.ts';
import { PREFIXES, ROUTES } from './routes/routes.ts';
import type { Snapshots } from './snapshot/store.ts';
import { installStylesheet } from './web/stylesheet.ts';

declare module 'fastify' {
  interface FastifyReply {
    /** What the request log tells of the request; null until a route has it. */
    facts: RequestFacts | null;
  }
}

export interface AppDependencies {
  settings: Settings;
  metering: Metering;
  snapshots: Snapshots;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
  /** An id that was never given before, of `A-Za-z0-9._-`. */
  randomId: () => string;
  metrics?: Metrics;
  /** Default: with the limits of a service. */
  pressure?: Pressure;
  /**
   * How long a closing gateway goes on taking requests, each answered with `Connection: close`, so that callers with
   * open connections leave by themselves instead of being cut off. Default 0.
   */
  drainMs?: number;
  /** Mounts the operator area. */
  admin?: AdminDependencies;
  /** Mounts the account pages. */
  account?: AccountPages;
  /** Told of every route as it is made, for tests that walk all of them. */
  onRoute?: (route: { method: string; url: string }) => void;
}

/** How long a client may take to send its headers, its whole request, and to be silent in between. */
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** So much later than its time a slow request may be cut off. */
const CONNECTIONS_CHECKED_EVERY_MS = 3_000;
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
/** A reader that takes nothing for this long is cut off. */
const IDLE_TIMEOUT_MS = 60_000;
/** Longer than any header block may be, so that no path is too long for its route: it is not found instead. */
const PATH_PARAMETER_MAX = 32_768;

/** What even a page of a plugin carries. */
const EVERY_PAGE = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'same-origin',
};

export function buildApp(dependencies: AppDependencies): FastifyInstance {
  const { settings, metering, snapshots, log, randomId } = dependencies;
  const { pressure = new Pressure(PRESSURE_LIMITS, log) } = dependencies;
  const app = Fastify({
    logger: false,
    trustProxy: trustedProxies(settings.TRUST_PROXY),
    genReqId: requestIds(randomId),
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionTimeout: IDLE_TIMEOUT_MS,
    http: { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: CONNECTIONS_CHECKED_EVERY_MS },
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
  boundConnections(app.server, log);
  const unwatch = pressure.watch();
  app.addHook('onClose', async () => unwatch());
  app.decorateReply('facts', null);
  const { onRoute } = dependencies;
  if (onRoute) app.addHook('onRoute', ({ method, url }) => onRoute({ method: String(method), url }));
  const { drainMs = 0 } = dependencies;
  if (drainMs > 0) app.addHook('preClose', () => setTimeout(drainMs));
  // Public answers are written by `send.ts` and never come by here.
  app.addHook('onSend', async (request, reply) => {
    reply.headers({ 'X-Request-Id': request.id, ...EVERY_PAGE });
  });
  installRequestLog(app, log, dependencies.metrics ?? null);
  const templates = PREFIXES.flatMap((prefix) => ROUTES.map((route) => prefix + route.template));
  installFallback(app, [...templates, ...OPENAPI_PATHS, '/healthz', '/readyz'], log);
  installHealth(app, snapshots, metering);
  installDocs(app, buildOpenApi());
  installStylesheet(app);
  if (dependencies.admin) registerAdmin(app, dependencies.admin);
  if (dependencies.account) registerAccountPages(app, dependencies.account);
  for (const route of ROUTES) {
    const handler = admit(route, { ...dependencies, pressure });
    for (const prefix of PREFIXES) app.get(prefix + asPattern(route.template), handler);
  }
  return app;
}

/** `/rankings/{indicator}` as the router writes it. */
const asPattern = (template: string): string => template.replaceAll(/\{([^}]+)\}/g, ':$1');

/** Addresses and CIDR ranges only: a number of hops or "all" would let anyone choose an address. */
function trustedProxies(setting: string): string[] | false {
  const ranges = splitList(setting);
  return ranges.length > 0 ? ranges : false;
}
