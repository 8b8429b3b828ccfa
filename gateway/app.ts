/**
 * The gateway as a Fastify instance, made from its dependencies: it reads no settings from anywhere and listens
 * nowhere. `main.ts` does both.
 */
import type { FastifyInstance } from 'fastify';
import type { AdminDependencies } from '../admin/area.ts';
import { registerAdmin } from '../admin/plugin.ts';
import { type AccountPages, registerAccountPages } from './account/pages/plugin.ts';
import { installDocs, OPENAPI_PATHS } from './http/docs.ts';
import { installFallback } from './http/fallback.ts';
import { installHealth } from './http/health.ts';
import { PRESSURE_LIMITS, Pressure } from './http/pressure.ts';
import { openServer, type ServerDependencies } from './http/server.ts';
import type { Metering } from './metering/metering.ts';
import { buildOpenApi } from './openapi.ts';
import { admit } from './routes/admission.ts';
import { PREFIXES, ROUTES } from './routes/routes.ts';
import type { Snapshots } from './snapshot/store.ts';
import { installStylesheet } from './web/stylesheet.ts';

export interface AppDependencies extends ServerDependencies {
  metering: Metering;
  snapshots: Snapshots;
  /** Unix milliseconds. */
  now: () => number;
  /** Default: with the limits of a service. */
  pressure?: Pressure;
  /** Mounts the operator area. */
  admin?: AdminDependencies;
  /** Mounts the account pages. */
  account?: AccountPages;
}

export function buildApp(dependencies: AppDependencies): FastifyInstance {
  const { metering, snapshots, log } = dependencies;
  const { pressure = new Pressure(PRESSURE_LIMITS, log) } = dependencies;
  const app = openServer(dependencies);
  const unwatch = pressure.watch();
  app.addHook('onClose', async () => unwatch());
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
