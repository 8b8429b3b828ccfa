/** One log line and one set of metrics for each answered request; neither costs anything where it is off. */
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Metrics } from './metrics.ts';

export function installRequestLog(app: FastifyInstance, log: Logger, metrics: Metrics | null): void {
  const logged = log.isLevelEnabled('info');
  if (!logged && metrics === null) return;
  app.addHook('onResponse', (request, reply, done) => {
    const { facts } = reply;
    const route = facts?.route ?? request.routeOptions.url ?? 'none';
    const status = reply.raw.statusCode;
    metrics?.observe(route, status, reply.elapsedTime / 1000, facts?.creditsCharged ?? 0);
    if (logged) {
      log.info({
        request_id: request.id,
        method: request.method,
        route,
        status,
        duration_ms: Math.round(reply.elapsedTime * 1000) / 1000,
        ...(facts?.keyId ? { key_id: facts.keyId } : {}),
      });
    }
    done();
  });
}
