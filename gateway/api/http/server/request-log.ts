/** A log line and metrics for each answered request; neither costs anything where it is off. */
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Metrics } from './metrics.ts';
import { clientRequestId } from './request.ts';

/** What is known of a request when it is logged. */
export interface RequestFacts {
  /** Route name: `/v1/data`, or `none`. */
  route: string;
  keyId: string | null;
  creditsCharged: number;
}

export interface Answered {
  request_id: string;
  /** The client's own id, where it sent one that is safe to repeat. */
  client_request_id: string | null;
  method: string;
  status: number;
  duration_ms: number;
  facts: RequestFacts;
}

/** Called for every request once its answer is sent. */
export type Observer = (answered: Answered) => void;

/** Null where neither log nor metrics are on. */
export function requestObserver(log: Logger, metrics: Metrics | null): Observer | null {
  const logged = log.isLevelEnabled('info');
  if (!logged && metrics === null) return null;
  return ({ request_id, client_request_id, method, status, duration_ms, facts }) => {
    const { route, keyId, creditsCharged } = facts;
    metrics?.observe(route, status, duration_ms / 1000, creditsCharged);
    if (!logged) return;
    log.info({
      request_id,
      ...(client_request_id !== null && { client_request_id }),
      method,
      route,
      status,
      duration_ms: Math.round(duration_ms * 1000) / 1000,
      ...(keyId ? { key_id: keyId } : {}),
    });
  };
}

export function installRequestLog(app: FastifyInstance, observe: Observer | null): void {
  if (observe === null) return;
  app.addHook('onResponse', (request, reply, done) => {
    const { facts, raw, elapsedTime } = reply;
    const unknown = { route: request.routeOptions.url ?? 'none', keyId: null, creditsCharged: 0 };
    observe({
      request_id: request.id,
      client_request_id: clientRequestId(request.raw),
      method: request.method,
      status: raw.statusCode,
      duration_ms: elapsedTime,
      facts: facts ?? unknown,
    });
    done();
  });
}
