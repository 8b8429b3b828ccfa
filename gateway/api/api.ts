/**
 * The metering gateway as a Fastify instance, made from its dependencies. It needs neither site nor accounts, reads no
 * settings and does not listen.
 *
 * - Every operation answers at one route under each prefix; HTTP and `/mcp` pass calls to one executor.
 * - A refusal costs nothing, and a charge is for what was delivered: `core/execute.ts` has the order of checks.
 * - A call is answered from one edition from start to end, and from memory or kept files where Redis is away and nothing
 *   has to be charged.
 * - Under overload it refuses at once instead of queueing; a client that reads slowly holds a bounded share of memory.
 * - Whoever composes it may add pages, which are operations that cost nothing, and an error page for browsers.
 */
import type { FastifyInstance } from 'fastify';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { Executor } from './core/execute.ts';
import {
  addressReader,
  answersHead,
  apiReference,
  contactOf,
  createHttpServer,
  type ErrorPage,
  FEED_PATH,
  installErrorHandlers,
  installFeedLinks,
  installFeedManagement,
  installHealth,
  installOpenApi,
  installStatus,
  LOAD_LIMITS,
  LOG_PATHS,
  LoadShedder,
  type Metrics,
  OPENAPI_PATHS,
  PREFIXES,
  PublicApi,
  requestObserver,
  type ServerOptions,
  serviceAddress,
  slowClients,
} from './http/http.ts';
import { installMcp, type McpDependencies } from './mcp/mcp.ts';
import type { RedisMetering } from './metering/metering.ts';
import { OPERATIONS, type Operation } from './operations/operations.ts';
import type { Snapshots } from './snapshot/snapshot.ts';
import { ServiceStatusReader } from './status/status.ts';

/** What is served beside the API: pages and pictures at their paths, and errors for browsers. */
export interface Site {
  pages: readonly Operation[];
  errorPage: ErrorPage;
  /** Pictures of the service, for hosts of language models. */
  icons: NonNullable<McpDependencies['icons']>;
}

export interface ApiDependencies extends Omit<ServerOptions, 'observe'> {
  metering: RedisMetering;
  snapshots: Snapshots;
  /** Unix milliseconds. */
  now: () => number;
  /** Default: with the limits of a service. */
  loadShedder?: LoadShedder;
  metrics?: Metrics;
  /** Where runs and availability are recorded; the status page shows neither without it. */
  statusRedis?: RedisClient | null;
  /** Makes what is served beside the API, from the description of the API and the status of the service. */
  siteOf?: (reference: ReturnType<typeof apiReference>, status: ServiceStatusReader) => Site;
  /** Whether people can sign in, so that hosts of language models need no key. Default: false. */
  hasSignIn?: boolean;
}

export function buildApi(dependencies: ApiDependencies): FastifyInstance {
  const { metering, snapshots, log, settings, randomId, now, metrics = null } = dependencies;
  const {
    loadShedder = new LoadShedder(LOAD_LIMITS, log),
    statusRedis = null,
    siteOf,
    hasSignIn,
  } = dependencies;
  const publicUrl = serviceAddress(settings);
  const described = { current: () => snapshots.current(), publicUrl, log };
  const status = new ServiceStatusReader({ snapshots, metering, redis: statusRedis, now, log });
  const { pages, errorPage, icons } = siteOf?.(apiReference(described), status) ?? NO_SITE;
  const contact = contactOf(settings, publicUrl);
  const executor = new Executor({ metering, snapshots, now, log, contact });
  const addressOf = addressReader(settings);
  const app = createHttpServer({ ...dependencies, observe: requestObserver(log, metrics) });
  const unwatch = loadShedder.watch();
  app.addHook('onClose', async () => unwatch());
  const prefixed = (operations: readonly Operation[]): string[] =>
    PREFIXES.flatMap((prefix) => operations.map(({ path }) => prefix + path));
  const pagePaths = pages.map(({ path }) => path);
  installErrorHandlers(app, {
    templates: [
      ...prefixed(OPERATIONS),
      ...pagePaths,
      ...OPENAPI_PATHS,
      ...LOG_PATHS,
      ...ABOUT_SERVICE,
      FEED_PATH,
    ],
    headTemplates: [...prefixed(OPERATIONS.filter(answersHead)), ...pagePaths, FEED_PATH],
    ...(errorPage && { errorPage }),
    log,
  });
  installHealth(app, { snapshots, metering });
  installStatus(app, status);
  installOpenApi(app, described);
  installMcp(app, {
    executor,
    loadShedder,
    slowClients,
    newRequestId: randomId,
    addressOf,
    publicUrl,
    ...(icons && { icons }),
    ...(hasSignIn && { hasSignIn }),
    settings,
    log,
  });
  const feeds = { executor, metering, loadShedder, addressOf, publicUrl, log };
  for (const prefix of PREFIXES) installFeedManagement(app, prefix, feeds);
  installFeedLinks(app, feeds);
  const api = { executor, snapshots, loadShedder, addressOf, publicUrl, pages, log };
  new PublicApi({ ...api, ...(errorPage && { errorPage }) }).install(app);
  return app;
}

const NO_SITE: Pick<Site, 'pages'> & Partial<Site> = { pages: [] };
const ABOUT_SERVICE = ['/healthz', '/readyz', '/status.json', '/server.json'];
