/** What a public request has with it when its route and its snapshot are known. */
import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import type { Metering } from '../metering/metering.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { Way } from './prepare.ts';
import type { ResponseContext } from './send.ts';

export interface AdmissionDependencies {
  metering: Metering;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
  addressOf: (request: IncomingMessage) => string;
}

/** What is known of a request when it is logged. */
export interface RequestFacts {
  route: string;
  keyId: string | null;
  creditsCharged: number;
}

export interface Passenger {
  request: IncomingMessage;
  way: Way;
  exchange: ResponseContext;
  snapshot: Snapshot;
  facts: RequestFacts;
}
