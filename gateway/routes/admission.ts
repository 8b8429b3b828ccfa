/** The handler of a public route: it finds the snapshot that answers, and lets the request through the checks. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Crowded } from '../crowded.ts';
import { parameterReader } from '../http/parameters.ts';
import type { Pressure } from '../http/pressure.ts';
import { type Exchange, sendRefusal } from '../http/send.ts';
import { MeteringUnavailable } from '../metering/metering.ts';
import type { Snapshots } from '../snapshot/store.ts';
import { type AdmissionDependencies, type Gate, Passage, type RequestFacts, UNAVAILABLE } from './passage.ts';
import type { Route } from './route.ts';

/** Routes are counted and billed under this prefix, whichever one a caller used. */
const USAGE_PREFIX = '/v1';

interface GateDependencies extends AdmissionDependencies {
  snapshots: Snapshots;
  pressure: Pressure;
}

/** Makes the handler of one route. It answers on the raw response, and never throws or rejects. */
export function admit(route: Route, dependencies: GateDependencies) {
  const { snapshots, pressure, log } = dependencies;
  const template = USAGE_PREFIX + route.template;
  const gate: Gate = { route, template, readParameters: parameterReader(route.query) };

  const failed = (passage: Passage, requestId: string, error: unknown): void => {
    if (!(error instanceof MeteringUnavailable || error instanceof Crowded)) {
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
    if (snapshot === null || isTooMuch(request, pressure)) {
      sendRefusal(UNAVAILABLE, exchange);
      return;
    }
    const passage = new Passage(gate, dependencies, { request, exchange, snapshot, facts });
    snapshot.retain();
    try {
      const running = passage.run();
      if (running instanceof Promise) {
        pressure.enter();
        running
          .catch((error: unknown) => failed(passage, request.id, error))
          .finally(() => {
            pressure.leave();
            snapshot.release();
          });
        return;
      }
    } catch (error) {
      failed(passage, request.id, error);
    }
    snapshot.release();
  };
}

/** A refusal here costs nothing and asks nobody. Without parameters a free answer is prerendered: never too much. */
function isTooMuch({ headers, url }: FastifyRequest, pressure: Pressure): boolean {
  if (headers.authorization !== undefined) return pressure.refusesKeyed();
  return pressure.refusesAnonymous() && url.includes('?');
}
