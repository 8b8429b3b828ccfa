/**
 * The gateway as a Fastify instance, made from its dependencies: it reads no settings from anywhere and listens
 * nowhere. `main.ts` does both.
 */
import type { FastifyInstance } from 'fastify';
import type { AdminDependencies } from '../admin/context.ts';
import { registerAdmin } from '../admin/plugin.ts';
import type { AccountService } from './accounts/service.ts';
import { type Answer, admit } from './http/admission.ts';
import { callerAddress } from './http/caller-address.ts';
import { installDocs, OPENAPI_PATHS } from './http/docs.ts';
import { installFallback } from './http/fallback.ts';
import { installHealth } from './http/health.ts';
import type { Metrics } from './http/metrics.ts';
import { buildOpenApi } from './http/openapi.ts';
import type { Way } from './http/prepare.ts';
import { PRESSURE_LIMITS, Pressure } from './http/pressure.ts';
import type { QueryParameters } from './http/query-string.ts';
import { requestIds } from './http/request-id.ts';
import { requestObserver } from './http/request-log.ts';
import { openServer, type ServerDependencies } from './http/server.ts';
import { UrlRouteCache } from './http/url-route-cache.ts';
import type { Metering } from './metering/metering.ts';
import { PREFIXES, ROUTES } from './operations/registry.ts';
import { registerAccountPages } from './pages/account/plugin.ts';
import { installStylesheet } from './pages/shared/stylesheet.ts';
import type { Snapshots } from './snapshot/store.ts';

export interface AppDependencies extends Omit<ServerDependencies, 'observe' | 'onClosing'> {
  metering: Metering;
  snapshots: Snapshots;
  /** Unix milliseconds. */
  now: () => number;
  /** Default: with the limits of a service. */
  pressure?: Pressure;
  metrics?: Metrics;
  /** Mounts the operator area. */
  admin?: AdminDependencies;
  /** Mounts the account pages. */
  account?: AccountService;
}

export function buildApp(dependencies: AppDependencies): FastifyInstance {
  const { metering, snapshots, log, settings, randomId, metrics = null } = dependencies;
  const { pressure = new Pressure(PRESSURE_LIMITS, log) } = dependencies;
  const observe = requestObserver(log, metrics);
  const directions = new UrlRouteCache({ requestId: requestIds(randomId), observe });
  const app = openServer({ ...dependencies, observe, onClosing: () => directions.close() });
  const unwatch = pressure.watch();
  app.addHook('onClose', async () => unwatch());
  const templates = PREFIXES.flatMap((prefix) => ROUTES.map((route) => prefix + route.template));
  installFallback(app, [...templates, ...OPENAPI_PATHS, '/healthz', '/readyz'], log);
  installHealth(app, snapshots, metering);
  installDocs(app, buildOpenApi());
  installStylesheet(app);
  if (dependencies.admin) registerAdmin(app, dependencies.admin);
  if (dependencies.account) registerAccountPages(app, dependencies.account);
  const addressOf = callerAddress(settings);
  for (const route of ROUTES) {
    const answer = admit(route, { ...dependencies, pressure, addressOf });
    for (const prefix of PREFIXES) install(app, prefix + asPattern(route.template), answer, directions);
  }
  directions.standBefore(app.server);
  return app;
}

/** The framework's part in a public route: to find it. */
function install(app: FastifyInstance, pattern: string, answer: Answer, directions: UrlRouteCache): void {
  app.get(pattern, ({ raw, id, params, query }, reply) => {
    reply.hijack();
    const way: Way = {
      path: params as Record<string, string>,
      query: query as QueryParameters,
      reading: null,
      isAskedAgain: false,
    };
    directions.note(raw.url ?? '', answer, way);
    reply.facts = answer(raw, reply.raw, id, way);
  });
}

/** `/rankings/{indicator}` as the router writes it. */
const asPattern = (template: string): string => template.replaceAll(/\{([^}]+)\}/g, ':$1');
