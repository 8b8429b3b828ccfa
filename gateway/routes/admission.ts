/** The way in to a public route: it finds the snapshot that answers, and lets the request through the checks. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Crowded } from '../crowded.ts';
import { parameterReader } from '../http/parameters.ts';
import type { Pressure } from '../http/pressure.ts';
import { type Exchange, sendRefusal } from '../http/send.ts';
import { MeteringUnavailable } from '../metering/metering.ts';
import type { Snapshots } from '../snapshot/store.ts';
import {
  type AdmissionDependencies,
  type Gate,
  Passage,
  type RequestFacts,
  UNAVAILABLE,
  type Way,
} from './passage.ts';
import type { Route } from './route.ts';

/** Routes are counted and billed under this prefix, whichever one a caller used. */
const USAGE_PREFIX = '/v1';

interface GateDependencies extends AdmissionDependencies {
  snapshots: Snapshots;
  pressure: Pressure;
}

/** A request whose route is known. */
export interface Arrival {
  request: IncomingMessage;
  response: ServerResponse;
  id: string;
  way: Way;
}

/**
 * Answers on the response, at once or later, and never throws or rejects. What it returns is filled in as it becomes
 * known, and whole when the answer is out.
 */
export type Answer = (arrival: Arrival) => RequestFacts;

/** Makes what answers on one route. */
export function admit(route: Route, dependencies: GateDependencies): Answer {
  const { snapshots, pressure, log } = dependencies;
  const template = USAGE_PREFIX + route.template;
  const gate: Gate = { route, template, readParameters: parameterReader(route.query) };

  const failed = (passage: Passage, requestId: string, error: unknown): void => {
    if (!(error instanceof MeteringUnavailable || error instanceof Crowded)) {
      log.error({ err: error, request_id: requestId, route: template }, 'request failed');
    }
    passage.fault(error);
  };

  return ({ request, response, id, way }) => {
    const facts: RequestFacts = { route: template, keyId: null, creditsCharged: 0 };
    const exchange: Exchange = { raw: response, requestId: id, standing: null, snapshotId: null };
    const snapshot = snapshots.current();
    if (snapshot === null || isTooMuch(request, pressure)) {
      sendRefusal(UNAVAILABLE, exchange);
      return facts;
    }
    const passage = new Passage(gate, dependencies, { request, way, exchange, snapshot, facts });
    snapshot.retain();
    try {
      const running = passage.run();
      if (running instanceof Promise) {
        pressure.enter();
        running
          .catch((error: unknown) => failed(passage, id, error))
          .finally(() => {
            pressure.leave();
            snapshot.release();
          });
        return facts;
      }
    } catch (error) {
      failed(passage, id, error);
    }
    snapshot.release();
    return facts;
  };
}

/** A refusal here costs nothing and asks nobody. Without parameters a free answer is prerendered: never too much. */
function isTooMuch({ headers, url = '' }: IncomingMessage, pressure: Pressure): boolean {
  if (headers.authorization !== undefined) return pressure.refusesKeyed();
  return pressure.refusesAnonymous() && url.includes('?');
}
