/** The handler of a public route: it finds the snapshot that answers, and lets the request through the checks. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { parameterReader } from '../http/parameters.ts';
import { type Exchange, sendRefusal } from '../http/send.ts';
import { MeteringUnavailable } from '../metering/metering.ts';
import type { Snapshots } from '../snapshot/store.ts';
import { type AdmissionDependencies, type Gate, Passage, type RequestFacts, UNAVAILABLE } from './passage.ts';
import type { Route } from './route.ts';

/** Routes are counted and billed under this prefix, whichever one a caller used. */
const USAGE_PREFIX = '/v1';

/** Makes the handler of one route. It answers on the raw response, and never throws or rejects. */
export function admit(route: Route, dependencies: AdmissionDependencies & { snapshots: Snapshots }) {
  const { snapshots, log } = dependencies;
  const template = USAGE_PREFIX + route.template;
  const gate: Gate = { route, template, readParameters: parameterReader(route.query) };

  const failed = (passage: Passage, requestId: string, error: unknown): void => {
    if (!(error instanceof MeteringUnavailable)) {
      log.error({ err: error, request_id: requestId, route: template }, 'request failed');
    }
    passage.fault(error);
  };

  return (request: FastifyRequest, reply: FastifyReply): void => {
    reply.hijack();
    const facts: RequestFacts = { route: template, keyId: null, creditsCharged: 0 };
    reply.facts = facts;
    const exchange: Exchange = { raw: reply.raw, requestId: request.id, standing: null, snapshotId: null };
    const snapshot = snapshots.current();
    if (snapshot === null) {
      sendRefusal(UNAVAILABLE, exchange);
      return;
    }
    const passage = new Passage(gate, dependencies, { request, exchange, snapshot, facts });
    snapshot.retain();
    try {
      const running = passage.run();
      if (running instanceof Promise) {
        running
          .catch((error: unknown) => failed(passage, request.id, error))
          .finally(() => snapshot.release());
        return;
      }
    } catch (error) {
      failed(passage, request.id, error);
    }
    snapshot.release();
  };
}
