/** The gateway as a Fastify instance, made from its dependencies. It reads no settings and does not listen; `main.ts` does. */
import type { FastifyInstance } from 'fastify';
import type { AdminDependencies } from '../admin/context.ts';
import { registerAdmin } from '../admin/plugin.ts';
import type { RedisClient } from '../data/runtime/redis.ts';
import type { CreditPack } from '../data/schema/curated.ts';
import { Executor } from './api/core/execute.ts';
import { PageWarming, type WarmingClock } from './api/http/api/page-warming.ts';
import { answersHead, PREFIXES, PublicApi, type PublicApiDependencies } from './api/http/api/public-api.ts';
import { installPublishedLog, LOG_PATHS } from './api/http/api/published-log.ts';
import { apiReference, installOpenApi, OPENAPI_PATHS } from './api/http/openapi/openapi-routes.ts';
import { contactOf } from './api/http/server/contact.ts';
import { installErrorHandlers } from './api/http/server/error-handlers.ts';
import { installHealth } from './api/http/server/health.ts';
import { LOAD_LIMITS, LoadShedder } from './api/http/server/load-shedding.ts';
import type { Metrics } from './api/http/server/metrics.ts';
import { addressReader } from './api/http/server/request.ts';
import { requestObserver } from './api/http/server/request-log.ts';
import { createHttpServer, type ServerOptions } from './api/http/server/server.ts';
import { slowClients } from './api/http/server/slow-clients.ts';
import { installStatus } from './api/http/server/status.ts';
import { installMcp } from './api/mcp/endpoint.ts';
import type { Metering } from './api/metering/metering.ts';
import type { Operation } from './api/operations/operation.ts';
import { OPERATIONS } from './api/operations/registry.ts';
import type { Snapshots } from './api/snapshot/editions/store.ts';
import { ServiceStatusReader } from './api/status/service-status.ts';
import { registerAccountPages } from './commerce/pages/plugin.ts';
import { salesFacts } from './commerce/sales-facts.ts';
import type { AccountService } from './commerce/service.ts';
import { installAssets } from './site/assets.ts';
import { featuredPages } from './site/featured.ts';
import { serviceFacts } from './site/service-facts.ts';
import { renderErrorPage, sitePages } from './site/site.ts';

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
  const facts = serviceFacts(settings, packs, salesFacts(settings));
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
