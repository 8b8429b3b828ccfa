/**
 * Works out what a request comes to, in memory and whole, so that its price is known and nothing can fail after it is paid.
 * Nothing here knows who asks.
 */
import type { IncomingMessage } from 'node:http';
import { ERRORS, type ErrorCode } from '../errors.ts';
import { MeteringUnavailable } from '../metering/metering.ts';
import type { Outcome, Route } from '../operations/operation.ts';
import type { ParameterReader, ParameterReading } from '../operations/parameters.ts';
import type { ValidationDetail } from '../operations/validation.ts';
import { QueueFull } from '../queue-full.ts';
import { QueryTimeout } from '../snapshot/query-runner.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { QueryParameters } from './query-string.ts';
import { type Representation, represent, type Wishes } from './representation.ts';
import { type Refusal, type ResponseContext, sendInvalid, sendRefusal, sendRepresentation } from './send.ts';

/** What a URL alone says. */
export interface Way {
  /** Path parameters, decoded. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: QueryParameters;
  /** The query as the route reads it, once it has been read. */
  reading: ParameterReading<unknown> | null;
  /** Whether somebody asked for this very URL before. */
  isAskedAgain: boolean;
}

/** A route with what is worked out once for all its requests. */
export interface Gate {
  route: Route;
  /** Of the route: gates are all of one shape, and Node looks into such objects sooner. */
  needsKey: boolean;
  isTagged: boolean;
  /** Under which it is counted and billed. */
  template: string;
  readParameters: ParameterReader<unknown>;
}

/** What the handler came to, made ready to send, with the price it has if it is admitted. */
export type Prepared =
  | { kind: 'answer'; representation: Representation; price: number; rows: number }
  | (Outcome & { kind: 'account' })
  | { kind: 'refusal'; refusal: Refusal }
  | { kind: 'invalid'; detail: ValidationDetail[] };

/** Answers of free routes are found ready where they were made before. */
export function prepare(
  gate: Gate,
  way: Way,
  request: IncomingMessage,
  snapshot: Snapshot,
): Prepared | Promise<Prepared> {
  const wishes = wishesOf(request, gate);
  if (wishes.tagged) {
    const representation = snapshot.free.find(request.url ?? '', wishes);
    if (representation !== null) return { kind: 'answer', representation, price: 0, rows: 0 };
  }
  way.reading ??= gate.readParameters(way.query);
  const { reading } = way;
  if (!reading.ok) return { kind: 'invalid', detail: reading.detail };
  const handled = gate.route.handle({ snapshot, path: way.path, query: reading.values });
  // What is asked for once is not kept: it would push out what is asked for often.
  const keepAs = wishes.tagged && way.isAskedAgain ? (request.url ?? '') : null;
  const made = (outcome: Outcome) => makeReady(outcome, wishes, snapshot, keepAs);
  return handled instanceof Promise ? handled.then(made) : made(handled);
}

/** @param keepAs the URL under which a free answer is kept, if it is. */
function makeReady(
  outcome: Outcome,
  wishes: Wishes,
  snapshot: Snapshot,
  keepAs: string | null,
): Prepared | Promise<Prepared> {
  if (outcome.kind === 'refusal') return { kind: 'refusal', refusal: outcome };
  if (outcome.kind !== 'answer') return outcome;
  const { body, price, rows } = outcome;
  const ready = (representation: Representation): Prepared => {
    if (keepAs !== null && price === 0) {
      const isShared = body.kind === 'file' && snapshot.files.isResident(body.path);
      snapshot.free.keep(keepAs, wishes, representation, isShared);
    }
    return { kind: 'answer', representation, price, rows };
  };
  const made = represent(body, wishes, snapshot);
  return made instanceof Promise ? made.then(ready) : ready(made);
}

export function wishesOf({ headers }: IncomingMessage, { isTagged }: Gate): Wishes {
  return {
    acceptEncoding: headers['accept-encoding'],
    ifNoneMatch: headers['if-none-match'],
    tagged: isTagged,
  };
}

export function statusOf(prepared: Prepared): number {
  if (prepared.kind === 'refusal') return ERRORS[prepared.refusal.code].status;
  return prepared.kind === 'invalid' ? 422 : 200;
}

/** Refusals that another snapshot might not give: they name theirs. */
const DECIDED_BY_SNAPSHOT: ReadonlySet<ErrorCode> = new Set([
  'country_not_found',
  'indicator_not_found',
  'not_rankable',
  'export_restricted',
]);

/** What is made for the account is made and sent once it is admitted; see `Passage`. */
export function sendPrepared(prepared: Prepared, exchange: ResponseContext, snapshot: Snapshot): void {
  if (prepared.kind === 'answer') {
    exchange.snapshotId = snapshot.id;
    sendRepresentation(prepared.representation, exchange);
  } else if (prepared.kind === 'refusal') {
    if (DECIDED_BY_SNAPSHOT.has(prepared.refusal.code)) exchange.snapshotId = snapshot.id;
    sendRefusal(prepared.refusal, exchange);
  } else if (prepared.kind === 'invalid') {
    sendInvalid(prepared.detail, exchange);
  }
}

/** After this a caller may try again when something on our side was away. */
const RETRY_AFTER_S = 5;
export const UNAVAILABLE: Refusal = { code: 'unavailable', retryAfterS: RETRY_AFTER_S };

/** Faults that pass by themselves. */
const OF_THE_MOMENT = [MeteringUnavailable, QueryTimeout, QueueFull] as const;

export function refusalOf(error: unknown): Refusal {
  return OF_THE_MOMENT.some((kind) => error instanceof kind) ? UNAVAILABLE : { code: 'internal_error' };
}
