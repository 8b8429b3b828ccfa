/** The gateway as a Fastify instance, made from its dependencies. It reads no settings and does not listen; `main.ts` does. */
import type { FastifyInstance } from 'fastify';
import type { AdminDependencies } from '../admin/context.ts';
import { registerAdmin } from '../admin/plugin.ts';
import type { RedisClient } from '../data/runtime/redis.ts';
import type { CreditPack } from '../data/schema/curated.ts';
import type { AccountService } from './accounts/service.ts';
import { contactOf } from './contact.ts';
import { Executor } from './execute.ts';
import { installErrorHandlers } from './http/error-handlers.ts';
import { installHealth } from './http/health.ts';
import { LOAD_LIMITS, LoadShedder } from './http/load-shedding.ts';
import type { Metrics } from './http/metrics.ts';
import { apiReference, installOpenApi, OPENAPI_PATHS } from './http/openapi-routes.ts';
import { answersHead, PREFIXES, PublicApi, type PublicApiDependencies } from './http/public-api.ts';
import { installPublishedLog, LOG_PATHS } from './http/published-log.ts';
import { addressReader } from './http/request.ts';
import { requestObserver } from './http/request-log.ts';
import { createHttpServer, type ServerOptions } from './http/server.ts';
import { slowClients } from './http/slow-clients.ts';
import { installStatus } from './http/status.ts';
import { installMcp } from './mcp/endpoint.ts';
import type { Metering } from './metering/metering.ts';
import type { Operation } from './operations/operation.ts';
import { OPERATIONS } from './operations/registry.ts';
import { PageWarming, type WarmingClock } from './page-warming.ts';
import { registerAccountPages } from './pages/account/plugin.ts';
import { installAssets } from './pages/site/assets.ts';
import { featuredPages } from './pages/site/featured.ts';
import { serviceFacts } from './pages/site/service-facts.ts';
import { renderErrorPage, sitePages } from './pages/site/site.ts';
import type { Snapshots } from './snapshot/store.ts';
import { ServiceStatusReader } from './status/service-status.ts';

export interface AppDependencies extends Omit<ServerOptions, 'observe' | 'onClosing' | 'listener'> {
  metering: Metering;
  snapshots: Snapshots;
  /** Unix milliseconds. */
  now: () => number;
  /** Default: with the limits of a service. */
  loadShedder?: LoadShedder;
  caches?: PublicApiDependencies['caches'];
  metrics?: Metrics;
  /** Mounts the operator area. */
  admin?: AdminDependencies;
  /** Mounts the account pages. */
  account?: AccountService;
  /** Where runs and availability are recorded; default the connection of the account pages. */
  statusRedis?: RedisClient;
  /** Renders featured pages before anyone asks for them, with rests by this clock. Default: it does not. */
  warmingClock?: WarmingClock;
  /** Credits on sale; default those of the account pages. */
  packs?: readonly CreditPack[];
}

export function buildApp(dependencies: AppDependencies): FastifyInstance {
  const { metering, snapshots, log, settings, randomId, now, caches, metrics = null } = dependencies;
  const { loadShedder = new LoadShedder(LOAD_LIMITS, log) } = dependencies;
  const observe = requestObserver(log, metrics);
  const { packs = dependencies.account?.packs ?? [] } = dependencies;
  const facts = serviceFacts(settings, packs);
  const described = { current: () => snapshots.current(), publicUrl: facts.baseUrl, log };
  const { statusRedis = dependencies.account?.redis ?? null } = dependencies;
  const status = new ServiceStatusReader({ snapshots, metering, redis: statusRedis, now, log });
  const pages = sitePages(facts, apiReference(described), status);
  const contact = contactOf(settings, facts.baseUrl);
  const executor = new Executor({ metering, snapshots, now, log, contact });
  const addressOf = addressReader(settings);
  const api = new PublicApi({
    pages,
    errorPage: renderErrorPage,
    executor,
    loadShedder,
    newRequestId: randomId,
    addressOf,
    publicUrl: facts.baseUrl,
    log,
    observe,
    ...(caches && { caches }),
  });
  const { warmingClock: clock } = dependencies;
  const warming = clock && new PageWarming({ snapshots, pagesOf: featuredPages, renderer: api, clock, log });
  const app = createHttpServer({
    ...dependencies,
    observe,
    async onClosing() {
      api.close();
      await warming?.stop();
    },
    listener: (framework) => api.listener(framework),
  });
  const unwatch = loadShedder.watch();
  app.addHook('onClose', async () => unwatch());
  const prefixed = (operations: readonly Operation[]): string[] =>
    PREFIXES.flatMap((prefix) => operations.map(({ path }) => prefix + path));
  const paths = [
    ...prefixed(OPERATIONS),
    ...pages.map(({ path }) => path),
    ...OPENAPI_PATHS,
    ...LOG_PATHS,
    '/healthz',
    '/readyz',
    '/status.json',
  ];
  const headTemplates = [...prefixed(OPERATIONS.filter(answersHead)), ...pages.map(({ path }) => path)];
  installErrorHandlers(app, { templates: paths, headTemplates, errorPage: renderErrorPage, log });
  installHealth(app, { snapshots, metering });
  installStatus(app, status);
  installPublishedLog(app, snapshots);
  installOpenApi(app, described);
  installAssets(app);
  const { baseUrl: publicUrl } = facts;
  const newRequestId = randomId;
  installMcp(app, { executor, loadShedder, slowClients, newRequestId, addressOf, publicUrl, settings, log });
  if (dependencies.admin) registerAdmin(app, dependencies.admin);
  if (dependencies.account) registerAccountPages(app, dependencies.account);
  api.install(app);
  if (warming) app.addHook('onListen', async () => warming.start());
  return app;
}
