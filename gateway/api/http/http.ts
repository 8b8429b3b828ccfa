/**
 * The HTTP adapter: turns requests into calls of `core/execute.ts` and results into responses. This is its door.
 *
 * - Every operation answers at one route under each prefix; a page at its path. There is one request path: Fastify's.
 * - What is not clean HTTP is refused before it is routed. No answer shows a stack, a path or another's message.
 * - An answer of the same content has the same entity tag at every gateway; free ones are cached until the snapshot changes.
 * - Every body, queue and wait has a bound: under overload a call is refused at once, and for free.
 * - An answer that breaks while it is sent is cut off, never ended as if it were whole, and its charge is taken back.
 * - `server/` makes any server of this project, `api/` serves the operations, `openapi/` describes them.
 */
export { FEED_PATH, installFeedLinks } from './api/feed-links.ts';
export { installFeedManagement } from './api/feed-management.ts';
export { answersHead, LOG_PATHS, PREFIXES, PublicApi } from './api/public-api.ts';
export { apiReference, installOpenApi, OPENAPI_PATHS } from './openapi/openapi-routes.ts';
export { type ErrorPage, installErrorHandlers } from './server/error-handlers.ts';
export { installHealth, installStatus } from './server/health.ts';
export { createMetrics, type Metrics, requestObserver } from './server/metrics.ts';
export { LOAD_LIMITS, LoadShedder, slowClients } from './server/overload.ts';
export { addressReader, createHttpServer, createRequestIds, type ServerOptions } from './server/server.ts';
export { contactOf, localAddress, serviceAddress } from './server/service-address.ts';
