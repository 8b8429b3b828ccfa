/** The way in to a public route: it finds the snapshot that answers, and lets the request through the checks. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { MeteringUnavailable } from '../metering/metering.ts';
import type { Route } from '../operations/operation.ts';
import { parameterReader } from '../operations/parameters.ts';
import { QueueFull } from '../queue-full.ts';
import type { Snapshots } from '../snapshot/store.ts';
import { answerAnonymous } from './anonymous.ts';
import { Passage } from './passage.ts';
import type { AdmissionDependencies, Passenger, RequestFacts } from './passenger.ts';
import { type Gate, refusalOf, UNAVAILABLE, type Way } from './prepare.ts';
import type { Pressure } from './pressure.ts';
import { type ResponseContext, sendRefusal } from './send.ts';

/** Routes are counted and billed under this prefix, whichever one a caller used. */
const USAGE_PREFIX = '/v1';

interface GateDependencies extends AdmissionDependencies {
  snapshots: Snapshots;
  pressure: Pressure;
}

/**
 * Answers on the response, at once or later, and never throws or rejects. What it returns is filled in as it becomes
 * known, and whole when the answer is out.
 */
export type Answer = (
  request: IncomingMessage,
  response: ServerResponse,
  id: string,
  way: Way,
) => RequestFacts;

/** Makes what answers on one route. */
export function admit(route: Route, dependencies: GateDependencies): Answer {
  const { snapshots, pressure, log } = dependencies;
  const template = USAGE_PREFIX + route.template;
  const gate: Gate = {
    route,
    template,
    needsKey: route.key === 'required',
    isTagged: route.tagged,
    readParameters: parameterReader(route.query),
  };
  /** All that there is to know of a request without a key. */
  const anonymous: RequestFacts = { route: template, keyId: null, creditsCharged: 0 };

  const failed = (error: unknown, exchange: ResponseContext): void => {
    if (!(error instanceof MeteringUnavailable || error instanceof QueueFull)) {
      log.error({ err: error, request_id: exchange.requestId, route: template }, 'request failed');
    }
    sendFault(error, exchange);
  };

  /** Holds on to the snapshot until the answer is out. */
  const whenAnswered = (answering: Promise<void>, { snapshot, exchange }: Passenger): void => {
    snapshot.retain();
    pressure.enter();
    answering
      .catch((error: unknown) => failed(error, exchange))
      .finally(() => {
        pressure.leave();
        snapshot.release();
      });
  };

  return (request, response, id, way) => {
    const exchange: ResponseContext = { raw: response, requestId: id, standing: null, snapshotId: null };
    const { authorization } = request.headers;
    const facts = authorization === undefined ? anonymous : { ...anonymous };
    const snapshot = snapshots.current();
    if (snapshot === null || isTooMuch(authorization !== undefined, request.url ?? '', pressure)) {
      sendRefusal(UNAVAILABLE, exchange);
      return facts;
    }
    const passenger: Passenger = { request, way, exchange, snapshot, facts };
    try {
      const answering =
        authorization === undefined
          ? answerAnonymous(gate, dependencies, passenger)
          : new Passage(gate, dependencies, passenger).run(authorization);
      if (answering instanceof Promise) whenAnswered(answering, passenger);
    } catch (error) {
      failed(error, exchange);
    }
    return facts;
  };
}

/** Something on our side failed; nothing was charged. */
function sendFault(error: unknown, exchange: ResponseContext): void {
  if (exchange.raw.headersSent) exchange.raw.destroy();
  else sendRefusal(refusalOf(error), exchange);
}

/** A refusal here costs nothing and asks nobody. Without parameters a free answer is prerendered: never too much. */
function isTooMuch(isKeyed: boolean, url: string, pressure: Pressure): boolean {
  return isKeyed ? pressure.refusesKeyed() : pressure.refusesAnonymous() && url.includes('?');
}
